// Prefers the node with the pod's number, in Zig on the C SDK: web-3 prefers node-3. Zig 0.16 and newer translate the
// header first; SDK is the folder of kubewasp.h:
//
//     zig translate-c -target wasm32-freestanding -ISDK -DKW_DECLARE_ONLY SDK/kubewasp.h > kubewasp.zig
//     zig build-exe nodenumber.zig SDK/kubewasp.c -ISDK -target wasm32-freestanding -O ReleaseSmall -fno-entry -rdynamic
//
// Older versions may write @cImport({ @cDefine("KW_DECLARE_ONLY", "1"); @cInclude("kubewasp.h"); }) instead of @import.
const kw = @import("kubewasp.zig");

fn lastDigit(name: kw.kw_text) ?u8 {
    if (name.len == 0) return null;
    const last = name.at[name.len - 1];
    return if (last >= '0' and last <= '9') last - '0' else null;
}

// The pod's digit, read once per cycle and not once per node.
var wanted: ?u8 = null;

export fn prescore() i32 {
    wanted = lastDigit(kw.kw_pod_name(kw.kw_current_pod()));
    return kw.KW_SUCCESS;
}

export fn filter() i32 {
    const node = kw.kw_current_node();
    if (kw.kw_node_label(node, "closed").len > 0)
        return kw.kw_unschedulable("node %t is closed", kw.kw_node_name(node));
    return kw.KW_SUCCESS;
}

export fn score() i64 {
    const digit = lastDigit(kw.kw_node_name(kw.kw_current_node()));
    const same = digit != null and wanted != null and digit.? == wanted.?;
    return kw.kw_score_result(if (same) 10 else 0, kw.KW_SUCCESS);
}
