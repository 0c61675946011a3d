// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// A request's proxy: its host and port for errors, never its credentials.
enum CurlProxy {
    /// Whether an environment variable names a proxy.
    static var isInEnvironment: Bool {
        ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].contains { variable($0) != nil }
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// The settings for a URL: direct if it is excluded. libcurl would apply an excluded host to its whole domain.
    static func settings(
        _ proxy: ProxySettings, for url: URL?, environment: (String) -> String? = variable
    ) -> ProxySettings {
        var all = proxy
        if proxy.route == .environment { all.exclusions += exclusions(environment) }
        return all.excludes(url) ? .direct : proxy
    }

    /// The entries of `no_proxy` that libcurl does not understand: with a port, or an address in brackets. A name
    /// stands for its subdomains too, as in the entries that libcurl reads.
    private static func exclusions(_ environment: (String) -> String?) -> [String] {
        let list = environment("no_proxy") ?? environment("NO_PROXY") ?? ""
        return list.split { $0 == "," || $0 == " " }.compactMap { entry in
            if entry.hasPrefix("[") { return String(entry) }
            guard entry.count(where: { $0 == ":" }) == 1 else { return nil }
            return entry.hasPrefix(".") ? String(entry) : "." + entry
        }
    }

    /// The proxy's refusal that has ended a transfer; nil for another end.
    static func refusal(_ result: Int, of transfer: CurlTransfer) -> PulseError.ProxyRefusal? {
        let status = transfer.handle.long(PULSE_CURLINFO_HTTP_CONNECTCODE)
        if status != 0, !(200..<300).contains(status) {
            return PulseError.ProxyRefusal(proxy: name(for: transfer.request), reason: .status(status))
        }
        guard result == PULSE_CURLE_PROXY else { return nil }
        let error = transfer.handle.long(PULSE_CURLINFO_PROXY_ERROR)
        return replies[error].map { PulseError.ProxyRefusal(proxy: name(for: transfer.request), reason: $0) }
    }

    /// The proxy on which a transfer has failed before it reached its host; nil without a proxy, or if the host was
    /// reached.
    static func unreached(_ result: Int, _ text: String, _ request: CurlRequest) -> String? {
        let connecting = [
            PULSE_CURLE_COULDNT_CONNECT, PULSE_CURLE_COULDNT_RESOLVE_PROXY, PULSE_CURLE_PROXY, PULSE_CURLE_RECV_ERROR,
            PULSE_CURLE_SEND_ERROR, PULSE_CURLE_GOT_NOTHING, PULSE_CURLE_OPERATION_TIMEDOUT,
        ]
        guard connecting.contains(result), let name = name(for: request) else { return nil }
        if case .proxy = request.proxy.route { return name }
        // libcurl may have bypassed the environment's proxy.
        let host = name.prefix { $0 != ":" }
        return result == PULSE_CURLE_COULDNT_RESOLVE_PROXY || text.contains(host) ? name : nil
    }

    /// The proxy of a request, or the environment's for its scheme.
    static func name(
        for request: CurlRequest, environment: (String) -> String? = variable
    ) -> String? {
        switch request.proxy.route {
        case .direct: return nil
        case .proxy(_, let host, let port):
            return host.utf8.contains(UInt8(ascii: ":")) && !host.hasPrefix("[")
                ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .environment:
            // The names that libcurl reads.
            let names = request.isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
            let value = (names + ["all_proxy", "ALL_PROXY"]).lazy.compactMap(environment).first { !$0.isEmpty }
            return value.flatMap(address)
        }
    }

    /// Host and port of an environment variable's value, such as `http://user:password@proxy.test:3128/`.
    static func address(_ text: String) -> String? {
        var rest = Substring(text)
        var defaultPort = 1080
        if let scheme = rest.range(of: "://") {
            if rest[..<scheme.lowerBound].lowercased() == "https" { defaultPort = 443 }
            rest = rest[scheme.upperBound...]
        }
        rest = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if let end = rest.lastIndex(of: "@") { rest = rest[end...].dropFirst() }
        guard !rest.isEmpty else { return nil }
        // A colon within brackets belongs to an IPv6 address.
        let port = rest.lastIndex(of: ":").map { rest[$0...] }
        let hasPort = port.map { !$0.contains("]") } ?? false
        return hasPort ? String(rest) : "\(rest):\(defaultPort)"
    }

    /// The replies of RFC 1928 by libcurl's numbers. A proxy that ends the connection without a reply has not refused.
    private static let replies: [Int: PulseError.ProxyRefusal.Reason] = [
        PULSE_CURLPX_NO_AUTH: .socksCredentials, PULSE_CURLPX_USER_REJECTED: .socksCredentials,
        PULSE_CURLPX_UNKNOWN_MODE: .socksCredentials, PULSE_CURLPX_REPLY_GENERAL_SERVER_FAILURE: .socksReply(1),
        PULSE_CURLPX_REPLY_NOT_ALLOWED: .socksReply(2), PULSE_CURLPX_REPLY_NETWORK_UNREACHABLE: .socksReply(3),
        PULSE_CURLPX_REPLY_HOST_UNREACHABLE: .socksReply(4), PULSE_CURLPX_REPLY_CONNECTION_REFUSED: .socksReply(5),
        PULSE_CURLPX_REPLY_TTL_EXPIRED: .socksReply(6), PULSE_CURLPX_REPLY_COMMAND_NOT_SUPPORTED: .socksReply(7),
        PULSE_CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED: .socksReply(8), PULSE_CURLPX_REPLY_UNASSIGNED: .unknown,
    ]
}
#endif
