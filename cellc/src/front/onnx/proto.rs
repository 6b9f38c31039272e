//! The messages of an ONNX file with their supported fields, one row for each field.
//!
//! Source of the field numbers: `onnx.proto` of ONNX 1.23. prost decodes the wire format; fields
//! without a row are skipped.

use std::collections::HashMap;
use std::sync::Arc;

use prost::bytes::{Buf, BufMut};
use prost::encoding::{self, DecodeContext, WireType};
use prost::{DecodeError, Message};

/// Implements `prost::Message` for each listed message. A message may end with one field that files
/// do not have.
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident {
        $($number:literal $count:ident $kind:ident $field:ident: $type:ty,)*
        $($(#[$own_doc:meta])* own $own:ident: $own_type:ty,)?
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(super) struct $name {
            $(pub(super) $field: messages!(@type $count $type),)*
            $($(#[$own_doc])* pub(super) $own: $own_type,)?
        }

        impl Message for $name {
            fn encode_raw(&self, buf: &mut impl BufMut) {
                let _ = &buf;
                $({
                    let values = self.$field.iter();
                    values.for_each(|value| encoding::$kind::encode($number, value, buf));
                })*
            }

            fn merge_field(
                &mut self,
                tag: u32,
                wire_type: WireType,
                buf: &mut impl Buf,
                ctx: DecodeContext,
            ) -> Result<(), DecodeError> {
                match tag {
                    $($number => {
                        let field = &mut self.$field;
                        let merged = messages!(@merge $count $kind field, wire_type, buf, ctx);
                        merged.map_err(|mut error| {
                            error.push(stringify!($name), stringify!($field));
                            error
                        })
                    })*
                    _ => encoding::skip_field(wire_type, tag, buf, ctx),
                }
            }

            fn encoded_len(&self) -> usize {
                let lengths: &[usize] = &[$(
                    {
                        let values = self.$field.iter();
                        values.map(|value| encoding::$kind::encoded_len($number, value)).sum()
                    },
                )*];
                lengths.iter().sum()
            }

            fn clear(&mut self) {
                *self = Self::default();
            }
        }
    )*};
    (@type one $type:ty) => { Option<$type> };
    (@type many $type:ty) => { Vec<$type> };
    (@merge one $kind:ident $to:expr, $wire_type:expr, $buf:expr, $ctx:expr) => {
        encoding::$kind::merge($wire_type, $to.get_or_insert_default(), $buf, $ctx)
    };
    (@merge many $kind:ident $to:expr, $wire_type:expr, $buf:expr, $ctx:expr) => {
        encoding::$kind::merge_repeated($wire_type, $to, $buf, $ctx)
    };
}

/// Imported versions of operator sets by domain.
pub(super) type Versions = HashMap<String, i64>;

messages! {
    /// A file.
    ModelProto {
        1 one int64 ir_version: i64,
        2 one string producer_name: String,
        7 one message graph: GraphProto,
        8 many message opset_import: OperatorSetIdProto,
        25 many message functions: FunctionProto,
    }
    /// A domain and the imported version of its operator set.
    OperatorSetIdProto {
        1 one string domain: String,
        2 one int64 version: i64,
    }
    /// Nodes, inputs, outputs and constants of a graph.
    GraphProto {
        1 many message node: NodeProto,
        2 one string name: String,
        5 many message initializer: TensorProto,
        11 many message input: ValueInfoProto,
        12 many message output: ValueInfoProto,
        13 many message value_info: ValueInfoProto,
        15 many message sparse_initializer: SparseTensorProto,
        /// The operator sets of the caller of a function, for a graph that the call passes. `None`:
        /// the operator sets of the node around the graph.
        own versions: Option<Arc<Versions>>,
    }
    /// One operator.
    NodeProto {
        1 many string input: String,
        2 many string output: String,
        3 one string name: String,
        4 one string op_type: String,
        5 many message attribute: AttributeProto,
        7 one string domain: String,
        8 one string overload: String,
        9 many message metadata_props: StringStringEntryProto,
    }
    /// An attribute of a node.
    AttributeProto {
        1 one string name: String,
        2 one float f: f32,
        3 one int64 i: i64,
        4 one bytes s: Vec<u8>,
        5 one message t: TensorProto,
        6 one message g: GraphProto,
        7 many float floats: f32,
        8 many int64 ints: i64,
        9 many bytes strings: Vec<u8>,
        10 many message tensors: TensorProto,
        11 many message graphs: GraphProto,
        14 one message tp: Other,
        15 many message type_protos: Other,
        20 one int32 r#type: i32,
        21 one string ref_attr_name: String,
        22 one message sparse_tensor: SparseTensorProto,
        23 many message sparse_tensors: Other,
    }
    /// A name and a type.
    ValueInfoProto {
        1 one string name: String,
        2 one message r#type: TypeProto,
    }
    /// The type of a value. Only tensors are decoded.
    TypeProto {
        1 one message tensor_type: TensorTypeProto,
        4 one message sequence_type: Other,
        5 one message map_type: Other,
        7 one message opaque_type: Other,
        8 one message sparse_tensor_type: Other,
        9 one message optional_type: Other,
    }
    /// A tensor's elements and shape.
    TensorTypeProto {
        1 one int32 elem_type: i32,
        2 one message shape: TensorShapeProto,
    }
    /// A shape.
    TensorShapeProto {
        1 many message dim: DimensionProto,
    }
    /// A size: a number, a name, or neither if unknown.
    DimensionProto {
        1 one int64 dim_value: i64,
        2 one string dim_param: String,
    }
    /// A constant tensor.
    TensorProto {
        1 many int64 dims: i64,
        2 one int32 data_type: i32,
        4 many float float_data: f32,
        5 many int32 int32_data: i32,
        6 many bytes string_data: Vec<u8>,
        7 many int64 int64_data: i64,
        8 one string name: String,
        9 one bytes raw_data: Vec<u8>,
        10 many double double_data: f64,
        11 many uint64 uint64_data: u64,
        13 many message external_data: StringStringEntryProto,
        14 one int32 data_location: i32,
    }
    /// A constant tensor given by some of its elements; the others are 0.
    SparseTensorProto {
        1 one message values: TensorProto,
        2 one message indices: TensorProto,
        3 many int64 dims: i64,
    }
    /// A key and a value.
    StringStringEntryProto {
        1 one string key: String,
        2 one string value: String,
    }
    /// An operator defined by the file.
    FunctionProto {
        1 one string name: String,
        4 many string input: String,
        5 many string output: String,
        6 many string attribute: String,
        7 many message node: NodeProto,
        9 many message opset_import: OperatorSetIdProto,
        10 one string domain: String,
        11 many message attribute_proto: AttributeProto,
        13 one string overload: String,
    }
    /// A message with contents that are not decoded.
    Other {}
}
