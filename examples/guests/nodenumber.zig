// Prefers the node with the pod's number, in Zig on the C SDK: web-3 prefers node-3. Zig 0.16 and newer translate the
// header first; SDK is the folder of kubewasp.h:
//
//     zig translate-c -target wasm32-freestanding -ISDK -DKW_DECLARE_ONLY SDK/kubewasp.h > kubewasp.zig
//     zig build-exe nodenumber.zig SDK/kubewasp.c -ISDK -target wasm32-freestanding -O ReleaseSmall -fno-entry -rdynamic
//
// Older versions may write @cImport({ @cDefine("KW_DECLARE_ONLY", "1"); @cInclude("kubewasp.h"); }) instead of @import.
const kw = @import("kubewasp.zig");

// The plugin's configuration: guestConfig, as JSON.
var reverse = false; // prefer nodes with another number instead
var reserved: i64 = -1; // nodes with this number accept no pods

// The pod's digit, read once per cycle and not once per node.
var wanted: ?u8 = null;

fn lastDigit(name: kw.kw_text) ?u8 {
    if (name.len == 0) return null;
    const last = name.at[name.len - 1];
    return if (last >= '0' and last <= '9') last - '0' else null;
}

export fn _initialize() void {
    const settings = [_]kw.kw_setting{
        .{ .name = "reverse", .kind = kw.KW_BOOL, .place = &reverse },
        .{ .name = "reserved", .kind = kw.KW_INT, .place = &reserved },
    };
    kw.kw_started(kw.kw_read_config(&settings, settings.len));
}

export fn filter() i32 {
    const digit = lastDigit(kw.kw_node_name(kw.kw_current_node())) orelse return kw.KW_SUCCESS;
    if (digit != reserved) return kw.KW_SUCCESS;
    return kw.kw_unschedulable("node number %d is reserved", @as(c_int, digit));
}

export fn prescore() i32 {
    wanted = lastDigit(kw.kw_pod_name(kw.kw_current_pod()));
    return kw.KW_SUCCESS;
}

export fn score() i64 {
    const digit = lastDigit(kw.kw_node_name(kw.kw_current_node())) orelse return 0;
    const number = wanted orelse return 0;
    return kw.kw_score_result(if ((digit == number) != reverse) 10 else 0, kw.KW_SUCCESS);
}
