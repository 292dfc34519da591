"""Generator of the wire table: fields from the API types of Kubernetes."""

from tools.wire_fields import blocks

PROTO = """
message Pod {
  // Standard object's metadata.
  optional .k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta metadata = 1;

  optional PodSpec spec = 2;
}

message PodSpec {
  repeated Container containers = 1;

  optional int64 activeDeadlineSeconds = 5;

  map<string, string> nodeSelector = 7;

  optional Source source = 8;
}

message Container {
  optional string name = 1;
}

message Source {
  optional bytes raw = 1;
}

message Unused {
  optional string name = 1;
}
"""
CODE = """
type Pod struct {
\tmetav1.TypeMeta `json:",inline"`
\tmetav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
\tSpec PodSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

type PodSpec struct {
\t// Comment
\tContainers []Container `json:"containers" patchStrategy:"merge" protobuf:"bytes,1,rep,name=containers"`
\tActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" protobuf:"varint,5,opt,name=x"`
\tNodeSelector map[string]string `json:"nodeSelector,omitempty" protobuf:"bytes,7,rep,name=nodeSelector"`
\tSource `json:",inline" protobuf:"bytes,8,opt,name=source"`
}

type Container struct {
\tName string `json:"name" protobuf:"bytes,1,opt,name=name"`
}
"""
META = """
message ObjectMeta {
  optional string name = 1;
}
"""


def test_fields_of_a_kind_and_of_all_its_messages_are_written() -> None:
    sources = {"core.v1": (PROTO, CODE), "apis.meta.v1": (META, "")}
    assert "\n".join(blocks(sources, ["core.v1.Pod"])) == (
        "apis.meta.v1.ObjectMeta\n"
        "  1 name string\n"
        "core.v1.Container\n"
        "  1! name string\n"
        "core.v1.Pod\n"
        "  1! metadata apis.meta.v1.ObjectMeta\n"
        "  2! spec core.v1.PodSpec\n"
        "core.v1.PodSpec\n"
        "  1 containers []core.v1.Container\n"
        "  5 activeDeadlineSeconds int64\n"
        "  7 nodeSelector map<string,string>\n"
        "  8! source core.v1.Source inline\n"
        "core.v1.Source\n"
        "  1 raw bytes"
    )
