// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

// The callbacks that libcurl gets, with a transfer as their context.

private func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
    context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
}

let curlReceiveHeader: pulse_curl_data_callback = { bytes, size, count, context in
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer(context)?.receive(headerLine: line) == true ? line.count : 0
}

let curlReceiveBody: pulse_curl_data_callback = { bytes, size, count, context in
    transfer(context)?.receive(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

let curlFillBody: pulse_curl_data_callback = { bytes, size, count, context in
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    return transfer(context)?.fill(buffer) ?? Int(PULSE_CURL_READFUNC_ABORT)
}

let curlSeekBody: pulse_curl_seek_callback = { context, offset, origin in
    // libcurl always seeks relative to the start.
    let transfer = transfer(context)
    let isThere = origin == 0 && transfer.map { $0.upload.seek(to: offset, in: $0.request.body) } == true
    return Int32(isThere ? PULSE_CURL_SEEKFUNC_OK : PULSE_CURL_SEEKFUNC_CANTSEEK)
}

let curlPrerequest: pulse_curl_prereq_callback = { context, remote, _, remotePort, localPort in
    guard let transfer = transfer(context) else { return Int32(PULSE_CURL_PREREQFUNC_ABORT) }
    let maySend = transfer.willSend {
        pulse_loop_is_quiet(transfer.poller, transfer.handle.easy, remote, remotePort, localPort)
    } idleTimeLeft: {
        pulse_loop_idle_time_left(transfer.poller, remote, remotePort, localPort)
    }
    return Int32(maySend ? PULSE_CURL_PREREQFUNC_OK : PULSE_CURL_PREREQFUNC_ABORT)
}

let curlSecure: pulse_curl_ssl_ctx_callback = { _, tls, context in
    if let tls { transfer(context)?.progress.notes = CurlTLSNotes(begunWith: tls) }
    return Int32(PULSE_CURLE_OK)
}

let curlListen: pulse_curl_debug_callback = { _, kind, bytes, count, context in
    // CURLINFO_TEXT. All other kinds are transferred data.
    guard kind == 0 else { return 0 }
    transfer(context)?.receive(logLine: UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}

let curlOpenSocket: pulse_curl_opensocket_callback = { context, _, address in
    guard let transfer = transfer(context), let address, transfer.willOpenSocket(family: address.pointee.family) else {
        return Int32(PULSE_CURL_SOCKET_BAD)
    }
    let socket = pulse_loop_open_socket(transfer.poller, address)
    transfer.progress.lacksSocket = socket < 0 && [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno)
    return socket
}
#endif
