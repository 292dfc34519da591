from kubewasp.k8s.schema import message_class
from kubewasp.k8s.wire_table import VALUE_MESSAGES, messages
from kubewasp.k8s.wire_values import VALUE_TYPES


def test_every_type_a_field_names_exists() -> None:
    types = {field.type for fields in messages().values() for field in fields}
    assert types <= messages().keys() | VALUE_TYPES.keys()
    assert messages().keys() >= VALUE_MESSAGES
    assert VALUE_TYPES.keys() >= VALUE_MESSAGES


def test_numbers_and_json_names_are_unique_within_an_object() -> None:
    def json_names(name: str) -> list[str]:
        return [
            json_name
            for field in messages()[name]
            for json_name in (json_names(field.type) if field.inline else [field.name])
        ]

    for name, fields in messages().items():
        assert len({field.number for field in fields}) == len(fields)
        assert len(set(json_names(name))) == len(json_names(name))


def test_every_message_has_a_class_with_the_fields_of_the_table() -> None:
    for name, fields in messages().items():
        descriptor = message_class(name).DESCRIPTOR
        assert {(field.name, field.number) for field in descriptor.fields} == {(f.name, f.number) for f in fields}


def test_maps_are_proper_map_entries() -> None:
    labels = message_class("apis.meta.v1.ObjectMeta").DESCRIPTOR.fields_by_name["labels"]
    assert labels.message_type is not None
    assert labels.message_type.GetOptions().map_entry
