"""The names of the inputs of operators of com.microsoft, which the onnx package has no schemas of."""

from __future__ import annotations

from collections.abc import Mapping

INPUTS: Mapping[str, str] = {
    "Attention": "input weights bias mask_index past attention_bias past_sequence_length",
    "BiasGelu": "A B",
    "CDist": "A B",
    "CausalConvWithState": "input weight bias past_state",
    "ConvTransposeWithDynamicPads": "X W Pads B",
    "CropAndResize": "X rois batch_indices crop_size",
    "DequantizeLinear": "x x_scale x_zero_point",
    "DynamicQuantizeLSTM": "X W R B sequence_lens initial_h initial_c P W_scale W_zero_point R_scale R_zero_point",
    "DynamicQuantizeMatMul": "A B b_scale b_zero_point bias",
    "DynamicTimeWarping": "input",
    "EmbedLayerNormalization": "input_ids segment_ids word_embedding position_embedding segment_embedding gamma beta "
    "mask position_ids",
    "ExpandDims": "X axis",
    "FastGelu": "X bias",
    "FusedConv": "X W B Z",
    "FusedGemm": "A B C",
    "FusedMatMul": "A B",
    "GatherBlockQuantized": "data indices scales zero_points",
    "GatherND": "data indices",
    "Gelu": "X",
    "GridSample": "X Grid",
    "GroupQueryAttention": "query key value past_key past_value seqlens_k total_sequence_length cos_cache "
    "sin_cache position_ids attention_bias head_sink k_scale v_scale q_norm_weight "
    "k_norm_weight",
    "Inverse": "X",
    "MatMulIntegerToFloat": "A B a_scale b_scale a_zero_point b_zero_point bias",
    "MatMulNBits": "A B scales zero_points g_idx bias",
    "MoE": "input router_probs fc1_experts_weights fc1_experts_bias fc2_experts_weights "
    "fc2_experts_bias fc3_experts_weights fc3_experts_bias",
    "MultiHeadAttention": "query key value bias key_padding_mask attention_bias past_key past_value "
    "past_sequence_length cache_indirection",
    "NGramRepeatBlock": "input_ids scores",
    "NhwcMaxPool": "x",
    "Pad": "data pads value",
    "QAttention": "input weight bias input_scale weight_scale mask_index input_zero_point weight_zero_point past",
    "QGemm": "A a_scale a_zero_point B b_scale b_zero_point C y_scale y_zero_point",
    "QLinearAdd": "A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point",
    "QLinearAveragePool": "X x_scale x_zero_point y_scale y_zero_point",
    "QLinearConcat": "Y_scale Y_zero_point inputs",
    "QLinearConv": "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B",
    "QLinearGlobalAveragePool": "X x_scale x_zero_point y_scale y_zero_point",
    "QLinearLeakyRelu": "X X_scale X_zero_point Y_scale Y_zero_point",
    "QLinearMul": "A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point",
    "QLinearReduceMean": "data data_scale data_zero_point reduced_scale reduced_zero_point",
    "QLinearSigmoid": "X X_scale X_zero_point Y_scale Y_zero_point",
    "QLinearSoftmax": "X X_scale x_zero_point y_scale y_zero_point",
    "QLinearWhere": "condition X x_scale x_zero_point Y y_scale y_zero_point z_scale z_zero_point",
    "QMoE": "input router_probs fc1_experts_weights fc1_scales fc1_experts_bias "
    "fc2_experts_weights fc2_scales fc2_experts_bias fc3_experts_weights fc3_scales "
    "fc3_experts_bias fc1_zero_points fc2_zero_points fc3_zero_points router_weights "
    "fc1_global_scale fc2_global_scale fc1_act_scale fc2_act_scale fc1_act_block_scale "
    "fc2_act_block_scale",
    "QuantizeLinear": "x y_scale y_zero_point",
    "QuickGelu": "X",
    "Range": "start limit delta",
    "RotaryEmbedding": "input position_ids cos_cache sin_cache",
    "SkipLayerNormalization": "input skip gamma beta bias",
    "SkipSimplifiedLayerNormalization": "input skip gamma bias",
    "TransposeMatMul": "A B",
    "Trilu": "X k",
    "UnfoldTensor": "input",
    "Unique": "x",
    "WordConvEmbedding": "Sequence W B C",
}
"""By operator, in order. The last of a variadic operator stands for all that follow."""
