#include "tests/fuzzers/libfuzzer/mutate_message.hpp"

#include <google/protobuf/descriptor.h>

#include <limits>
#include <string>
#include <vector>

namespace assay::fuzzers {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Random = std::minstd_rand;

template <typename Values>
const auto& one_of(const Values& values, Random& random) {
  return values[random() % values.size()];
}

/// `message` and everything below it.
void collect(Message& message, std::vector<Message*>& all) {
  all.push_back(&message);
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) collect(*reflection.MutableMessage(&message, field), all);
    for (int i = 0; field->is_repeated() && i < reflection.FieldSize(message, field); ++i)
      collect(*reflection.MutableRepeatedMessage(&message, field, i), all);
  }
}

/// A text that stands somewhere else, or an odd one.
std::string some_text(const std::vector<Message*>& all, Random& random) {
  for (int tries = 0; tries < 8; ++tries) {
    const Message& from = *one_of(all, random);
    std::vector<const FieldDescriptor*> fields, texts;
    from.GetReflection()->ListFields(from, &fields);
    for (const FieldDescriptor* field : fields)
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) texts.push_back(field);
    if (texts.empty()) continue;
    const FieldDescriptor* field = one_of(texts, random);
    if (!field->is_repeated()) return from.GetReflection()->GetString(from, field);
    const int size = from.GetReflection()->FieldSize(from, field);
    return from.GetReflection()->GetRepeatedString(from, field,
                                                   static_cast<int>(random() % static_cast<unsigned>(size)));
  }
  static const std::vector<std::string> odd{
      "", "x", std::string("a\0b", 3), "\xff\xfe", "../../etc/passwd", "QuantizeLinear"};
  return one_of(odd, random);
}

std::int64_t some_integer(Random& random) {
  static const std::vector<std::int64_t> odd{
      0, 1, -1, 2, 7, 16, 127, -128, 32768, 65536, 2147483647, 4294967295, 1LL << 40, 1LL << 62, -1LL << 63};
  return one_of(odd, random);
}

double some_real(Random& random) {
  static const std::vector<double> odd{
      0, 1, -1, 0.5, 1e-40, 1e38, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  return one_of(odd, random);
}

/// Sets a single field, or adds to a repeated one.
void put(Message& message, const FieldDescriptor* field, const std::vector<Message*>& all, Random& random) {
  const Reflection& reflection = *message.GetReflection();
  const bool many = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const auto value = static_cast<std::int32_t>(random() % 2 == 0 ? static_cast<std::int64_t>(random() % 24)
                                                                     : some_integer(random));
      many ? reflection.AddInt32(&message, field, value) : reflection.SetInt32(&message, field, value);
      break;
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      const std::int64_t value = some_integer(random);
      many ? reflection.AddInt64(&message, field, value) : reflection.SetInt64(&message, field, value);
      break;
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      const auto value = static_cast<std::uint64_t>(some_integer(random));
      many ? reflection.AddUInt64(&message, field, value) : reflection.SetUInt64(&message, field, value);
      break;
    }
    case FieldDescriptor::CPPTYPE_FLOAT: {
      const auto value = static_cast<float>(some_real(random));
      many ? reflection.AddFloat(&message, field, value) : reflection.SetFloat(&message, field, value);
      break;
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
      many ? reflection.AddDouble(&message, field, some_real(random))
           : reflection.SetDouble(&message, field, some_real(random));
      break;
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int value = static_cast<int>(random() % 24);
      many ? reflection.AddEnumValue(&message, field, value) : reflection.SetEnumValue(&message, field, value);
      break;
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string value = some_text(all, random);
      many ? reflection.AddString(&message, field, std::move(value))
           : reflection.SetString(&message, field, std::move(value));
      break;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      std::vector<const Message*> alike;
      for (const Message* each : all)
        if (each->GetDescriptor() == field->message_type()) alike.push_back(each);
      const Message* from = alike.empty() ? nullptr : one_of(alike, random);
      constexpr std::size_t kLargest = 4096;  // doubling what is large makes a model too large
      const bool copied = from != nullptr && from->ByteSizeLong() < kLargest;
      // Before the field is there: making it ends the other one of a oneof, which `from` may be in; and `from` may hold
      // it.
      const std::string bytes = copied ? from->SerializePartialAsString() : std::string();
      Message* into = many ? reflection.AddMessage(&message, field) : reflection.MutableMessage(&message, field);
      if (copied) into->ParsePartialFromString(bytes);
      break;
    }
    default:
      break;
  }
}

}  // namespace

void mutate(Message& message, Random& random) {
  std::vector<Message*> all;
  collect(message, all);
  Message& chosen = *one_of(all, random);
  const Reflection& reflection = *chosen.GetReflection();
  std::vector<const FieldDescriptor*> set;
  reflection.ListFields(chosen, &set);
  const auto& known = *chosen.GetDescriptor();
  if (set.empty() || random() % 4 == 0) {
    if (known.field_count() == 0) return;
    put(chosen, known.field(static_cast<int>(random() % static_cast<unsigned>(known.field_count()))), all, random);
    return;
  }
  const FieldDescriptor* field = one_of(set, random);
  if (!field->is_repeated()) {
    random() % 4 == 0 ? reflection.ClearField(&chosen, field) : put(chosen, field, all, random);
    return;
  }
  const int size = reflection.FieldSize(chosen, field);
  const int at = static_cast<int>(random() % static_cast<unsigned>(size));
  switch (random() % 3) {
    case 0:
      reflection.SwapElements(&chosen, field, at, size - 1);
      reflection.RemoveLast(&chosen, field);
      break;
    case 1:
      reflection.SwapElements(&chosen, field, at, static_cast<int>(random() % static_cast<unsigned>(size)));
      break;
    default:
      put(chosen, field, all, random);
  }
}

}  // namespace assay::fuzzers
