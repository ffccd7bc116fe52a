from types import SimpleNamespace

CalibrationAlgo = SimpleNamespace(ENTROPY_CALIBRATION_2="EntropyCalibration2", MINMAX_CALIBRATION="MinMaxCalibration")


class DataLoaderCalibrator:
    def __init__(self, loader, algo_type, cache_file, use_cache, device):
        self.algo_type, self.cache_file, self.use_cache = algo_type, cache_file, use_cache
        self._batches = iter(loader)

    def get_batch(self):
        return next(self._batches, None)
