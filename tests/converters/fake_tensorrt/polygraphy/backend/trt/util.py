def get_trt_logger():
    return None
