#include "converters/embedded/switchable.hpp"

#include "converters/embedded/embedded.hpp"

namespace assay::embedded {

converters::Switchable switchable() {
  converters::Switchable embedded{.name = "embedded", .faults = {}, .variants = {}, .maker = {}};
  for (const FaultInfo& fault : fault_table()) {
    embedded.faults.push_back({std::string(fault.name), changes_execution(fault.name)});
  }
  for (const VariantInfo& variant : variant_table()) {
    embedded.variants.push_back({std::string(variant.name), std::string(variant.options_json)});
  }
  embedded.maker = [] {
    return [shared = make_shared_work()](const std::vector<std::string>& faults, const std::string& variant) {
      return make_embedded(faults, variant, shared);
    };
  };
  return embedded;
}

}  // namespace assay::embedded
