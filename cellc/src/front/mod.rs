//! Every way in: what each kind of input says becomes a [`Model`](crate::model::Model).

#[cfg(feature = "openvino")]
pub mod openvino;
