//! Every way in: what each kind of input says becomes a [`Model`](crate::model::Model).

pub mod builder;
pub mod declaration;
pub(crate) mod declared;
#[cfg(feature = "openvino")]
pub mod openvino;
