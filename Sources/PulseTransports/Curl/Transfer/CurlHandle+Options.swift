// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

extension CurlHandle {
    /// A body up to this size is copied and sent with the head.
    private static let copiedBodyLimit = 64 << 10

    /// Sets all options of a request but its URL and header fields. Throws ``PulseError/unsupported(_:)`` for what this
    /// libcurl does not support.
    ///
    /// - Parameter context: the transfer, which the callbacks get.
    func setOptions(of request: CurlRequest, _ context: UnsafeRawPointer) throws {
        set(PULSE_CURLOPT_PRIVATE, context)
        set(PULSE_CURLOPT_ERRORBUFFER, errorText)
        set(PULSE_CURLOPT_NOSIGNAL, 1)
        set(PULSE_CURLOPT_PATH_AS_IS, 1)
        set(PULSE_CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(PULSE_CURLOPT_TCP_KEEPALIVE, 1)
        set(PULSE_CURLOPT_PROTOCOLS, PULSE_CURLPROTO_HTTP | PULSE_CURLPROTO_HTTPS)
        setCallbacks(of: request, context)
        setTimeout(request.connectTimeout)
        setBody(of: request, context)
        // libcurl would share a connection of HTTP/2, which the callback before each send lets pass.
        if request.wasMisdirected { set(PULSE_CURLOPT_FRESH_CONNECT, 1) }
        if library.hasPrerequest {
            setFunction(PULSE_CURLOPT_PREREQFUNCTION, curlPrerequest)
            set(PULSE_CURLOPT_PREREQDATA, context)
            if library.logsRefusals, request.isSecure { listen(context) }
        } else if !request.mayBeResent || request.needsNewConnection {
            set(PULSE_CURLOPT_FRESH_CONNECT, 1)
        } else {
            // Without a callback before each send, libcurl's log announces a resend.
            listen(context)
        }
        if let path = request.unixSocketPath {
            try demand("unix-domain sockets", set(PULSE_CURLOPT_UNIX_SOCKET_PATH, path))
        }
        try setProxy(request.proxy)
        if request.isSecure { try setTLS(of: request, context) }
    }

    private func listen(_ context: UnsafeRawPointer) {
        set(PULSE_CURLOPT_VERBOSE, 1)
        setFunction(PULSE_CURLOPT_DEBUGFUNCTION, curlListen)
        set(PULSE_CURLOPT_DEBUGDATA, context)
    }

    private func setCallbacks(of request: CurlRequest, _ context: UnsafeRawPointer) {
        setFunction(PULSE_CURLOPT_HEADERFUNCTION, curlReceiveHeader)
        set(PULSE_CURLOPT_HEADERDATA, context)
        setFunction(PULSE_CURLOPT_WRITEFUNCTION, curlReceiveBody)
        set(PULSE_CURLOPT_WRITEDATA, context)
        setFunction(PULSE_CURLOPT_OPENSOCKETFUNCTION, curlOpenSocket)
        set(PULSE_CURLOPT_OPENSOCKETDATA, context)
        // A connection outlives its transfer.
        let closeSocket: pulse_curl_closesocket_callback = pulse_loop_close_socket
        setFunction(PULSE_CURLOPT_CLOSESOCKETFUNCTION, closeSocket)
        set(PULSE_CURLOPT_CLOSESOCKETDATA, UnsafeRawPointer(environment.poller))
        // Holds the largest head that libcurl accepts. Over HTTP/2 libcurl 7.88 delivers only as much of a head as
        // fits, and waits for the socket before it delivers the rest.
        let isStreamed = if case .streamed = request.delivery { true } else { false }
        set(PULSE_CURLOPT_BUFFERSIZE, isStreamed ? 512 << 10 : 128 << 10)
    }

    /// Sets libcurl's connect timeout, which divides it among a host's addresses. The loop enforces the timeout itself.
    private func setTimeout(_ connectTimeout: TimeInterval) {
        if library.leavesResolverBehind {
            set(PULSE_CURLOPT_QUICK_EXIT, 1)
            set(PULSE_CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, min(connectTimeout, 1e6) * 1000)))
        } else {
            // A timeout during name resolution would block the loop.
            set(PULSE_CURLOPT_CONNECTTIMEOUT_MS, 1_000_000_000)
        }
    }

    private func setBody(of request: CurlRequest, _ context: UnsafeRawPointer) {
        let method = request.method
        switch request.body {
        case .none where method == "GET":
            return
        case .none where method == "HEAD":
            set(PULSE_CURLOPT_NOBODY, 1)
            return
        case .none where !["POST", "PUT", "PATCH"].contains(method):
            break
        case .none:
            // A length of 0 must be declared (RFC 9110, section 8.6).
            post(length: 0)
            set(PULSE_CURLOPT_COPYPOSTFIELDS, "")
        case .bytes(let data) where data.count <= Self.copiedBodyLimit:
            post(length: Int64(data.count))
            _ = data.withUnsafeBytes {
                set(PULSE_CURLOPT_COPYPOSTFIELDS, $0.baseAddress ?? UnsafeRawPointer(errorText))
            }
        case .bytes(let data):
            post(length: Int64(data.count))
            setReading(context)
        case .pipe(_, let length):
            post(length: length ?? -1)
            setReading(context)
        }
        set(PULSE_CURLOPT_CUSTOMREQUEST, method)
    }

    private func post(length: Int64) {
        set(PULSE_CURLOPT_POST, 1)
        _ = pulse_curl_set_offset(easy, Int32(PULSE_CURLOPT_POSTFIELDSIZE_LARGE), length)
    }

    private func setReading(_ context: UnsafeRawPointer) {
        setFunction(PULSE_CURLOPT_READFUNCTION, curlFillBody)
        set(PULSE_CURLOPT_READDATA, context)
        setFunction(PULSE_CURLOPT_SEEKFUNCTION, curlSeekBody)
        set(PULSE_CURLOPT_SEEKDATA, context)
        set(PULSE_CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10)
    }

    // The following are policies: if this libcurl cannot enforce one, the request must not be sent.

    private func setProxy(_ proxy: ProxySettings) throws {
        switch proxy.route {
        case .environment:
            // Otherwise libcurl reads its environment variables for each request.
            if environment.hasNoProxyAround { set(PULSE_CURLOPT_NOPROXY, "*") }
        case .direct:
            // An empty value overrides the environment.
            try demand("to pass proxies by", set(PULSE_CURLOPT_PROXY, ""))
        case .proxy(let kind, let host, let port):
            let isAddress = host.utf8.contains(UInt8(ascii: ":")) && !host.hasPrefix("[")
            let type = kind == .http ? PULSE_CURLPROXY_HTTP : PULSE_CURLPROXY_SOCKS5_HOSTNAME
            try demand(
                "a proxy", set(PULSE_CURLOPT_PROXY, isAddress ? "[\(host)]" : host), set(PULSE_CURLOPT_PROXYPORT, port),
                set(PULSE_CURLOPT_PROXYTYPE, type))
            // The environment's list does not apply: the request has the exact exclusions.
            try demand("proxy exclusions", set(PULSE_CURLOPT_NOPROXY, ""))
            if proxy.username != nil || proxy.password != nil {
                // Only some versions of libcurl decode the two options for the parts; all decode this one.
                let parts = [proxy.username, proxy.password].map { PercentEncoding.segment($0 ?? "") }
                try demand(
                    "a proxy's credentials", set(PULSE_CURLOPT_PROXYUSERPWD, parts.joined(separator: ":")))
            }
        }
    }

    private func setTLS(of request: CurlRequest, _ context: UnsafeRawPointer) throws {
        // Waiting for a connection that may be multiplexed is better than opening one more.
        if request.sharesConnection { set(PULSE_CURLOPT_PIPEWAIT, 1) }
        if request.needsHTTP1 { set(PULSE_CURLOPT_HTTP_VERSION, PULSE_CURL_HTTP_VERSION_1_1) }
        let tls = request.tls
        let version = tls.minimumVersion == .tls13 ? PULSE_CURL_SSLVERSION_TLSv1_3 : PULSE_CURL_SSLVERSION_TLSv1_2
        try demand("a minimum version of TLS", set(PULSE_CURLOPT_SSLVERSION, version))
        if !tls.certificateAuthorities.isEmpty {
            guard library.takesAuthorities else { throw Self.unsupported("certificate authorities") }
            let authorities = try environment.certificates.pem(of: tls.certificateAuthorities)
            // Otherwise the directory of system authorities would still apply.
            try demand(
                "certificate authorities", set(PULSE_CURLOPT_CAPATH, UnsafeRawPointer?.none),
                setBlob(PULSE_CURLOPT_CAINFO_BLOB, authorities))
        } else if library.systemAuthorities != nil {
            // The callback for the context brings them.
            try demand(
                "shared authorities", set(PULSE_CURLOPT_CAPATH, UnsafeRawPointer?.none),
                set(PULSE_CURLOPT_CAINFO, UnsafeRawPointer?.none))
            // libcurl 7.87 and later keep the authorities of a multi handle's first connection for a day, and some
            // put them in the place of what the callback brings.
            set(PULSE_CURLOPT_CA_CACHE_TIMEOUT, 0)
        }
        if let certificate = tls.clientCertificate {
            guard library.takesClientCertificates else { throw Self.unsupported("client certificates") }
            try environment.certificates.check(certificate)
            try demand(
                "client certificates", set(PULSE_CURLOPT_SSLCERTTYPE, "P12"),
                setBlob(PULSE_CURLOPT_SSLCERT_BLOB, certificate.data),
                set(PULSE_CURLOPT_KEYPASSWD, certificate.password))
        }
        // Unavailable without OpenSSL; then the error texts must suffice.
        setFunction(PULSE_CURLOPT_SSL_CTX_FUNCTION, curlSecure)
        set(PULSE_CURLOPT_SSL_CTX_DATA, context)
        guard let pins = request.pins else { return }
        try demand("pins", set(PULSE_CURLOPT_SSL_SESSIONID_CACHE, 0))
        if !checksPins, !pins.isReportOnly {
            // Compares only the leaf's key, which is stricter than requested.
            let keys = pins.hashes.map { "sha256//" + Data($0).base64EncodedString() }
            try demand("pins", set(PULSE_CURLOPT_PINNEDPUBLICKEY, keys.joined(separator: ";")))
        }
    }

    /// Whether this client checks the pins itself, and not libcurl.
    var checksPins: Bool { library.hasPrerequest && library.readsVerifiedChain }

    private func demand(_ what: String, _ results: Int32...) throws {
        guard results.allSatisfy({ $0 == PULSE_CURLE_OK }) else { throw Self.unsupported(what) }
    }

    private static func unsupported(_ what: String) -> PulseError {
        .unsupported("\(what) with the system's libcurl")
    }

    private func setBlob(_ option: Int, _ data: Data) -> Int32 {
        data.withUnsafeBytes { pulse_curl_set_blob(easy, Int32(option), $0.baseAddress, $0.count) }
    }

    private func setFunction<Function>(_ option: Int, _ function: Function) {
        _ = pulse_curl_set_function(easy, Int32(option), unsafeBitCast(function, to: (@convention(c) () -> Void).self))
    }
}

// MARK: Callbacks of libcurl, with a transfer as their context

private func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
    context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
}

private let curlReceiveHeader: pulse_curl_data_callback = { bytes, size, count, context in
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer(context)?.receive(headerLine: line) == true ? line.count : 0
}

private let curlReceiveBody: pulse_curl_data_callback = { bytes, size, count, context in
    transfer(context)?.receive(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

private let curlFillBody: pulse_curl_data_callback = { bytes, size, count, context in
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    return transfer(context)?.fill(buffer) ?? Int(PULSE_CURL_READFUNC_ABORT)
}

private let curlSeekBody: pulse_curl_seek_callback = { context, offset, origin in
    // libcurl always seeks relative to the start.
    let transfer = transfer(context)
    let isThere = origin == 0 && transfer.map { $0.upload.seek(to: offset, in: $0.request.body) } == true
    return Int32(isThere ? PULSE_CURL_SEEKFUNC_OK : PULSE_CURL_SEEKFUNC_CANTSEEK)
}

private let curlPrerequest: pulse_curl_prereq_callback = { context, remote, _, remotePort, localPort in
    guard let transfer = transfer(context) else { return Int32(PULSE_CURL_PREREQFUNC_ABORT) }
    let maySend = transfer.willSend {
        pulse_loop_is_quiet(transfer.poller, transfer.handle.easy, remote, remotePort, localPort)
    } idleTimeLeft: {
        pulse_loop_idle_time_left(transfer.poller, remote, remotePort, localPort)
    }
    return Int32(maySend ? PULSE_CURL_PREREQFUNC_OK : PULSE_CURL_PREREQFUNC_ABORT)
}

private let curlSecure: pulse_curl_ssl_ctx_callback = { _, tls, context in
    guard let tls, let transfer = transfer(context) else { return Int32(PULSE_CURLE_OK) }
    transfer.progress.notes = CurlTLSNotes(begunWith: tls)
    return transfer.trustSystem(tls)
}

private let curlListen: pulse_curl_debug_callback = { _, kind, bytes, count, context in
    // CURLINFO_TEXT. All other kinds are transferred data.
    guard kind == 0 else { return 0 }
    transfer(context)?.receive(logLine: UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}

private let curlOpenSocket: pulse_curl_opensocket_callback = { context, _, address in
    guard let transfer = transfer(context), let address, transfer.willOpenSocket(family: address.pointee.family) else {
        return Int32(PULSE_CURL_SOCKET_BAD)
    }
    let socket = pulse_loop_open_socket(transfer.poller, address)
    transfer.progress.lacksSocket = socket < 0 && [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno)
    return socket
}
#endif
