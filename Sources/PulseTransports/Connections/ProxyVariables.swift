// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// The environment variables for proxies, and for the hosts that bypass them, read as most programs do.
///
/// | Variable | |
/// |---|---|
/// | `https_proxy`, `HTTPS_PROXY` | for `https` |
/// | `http_proxy` | for `http`; not in upper case, since a CGI server would set that from a request's field `Proxy` |
/// | `all_proxy`, `ALL_PROXY` | for both, if the others are empty |
/// | `no_proxy`, else `NO_PROXY` | hosts without a proxy, separated by commas or blanks; `*` alone for all |
///
/// A name in the list stands for its subdomains too; an address may have a prefix length: `10.0.0.0/8`.
/// ``settings(_:for:environment:)`` handles the entries with ports or brackets.
struct ProxyVariables {
    private let environment: (String) -> String?

    init(_ environment: @escaping (String) -> String?) {
        self.environment = environment
    }

    static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// Whether a variable names a proxy.
    static var isInEnvironment: Bool {
        ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].contains { value($0) != nil }
    }

    /// Reads the variables; nil for all if none names a proxy now.
    static var current: @Sendable (String) -> String? {
        if isInEnvironment { return { ProxyVariables.value($0) } }
        return { _ in nil }
    }

    /// The settings for a URL: direct if it is excluded, even by a `no_proxy` entry with a port or brackets.
    static func settings(
        _ proxy: ProxySettings, for url: URL?, environment: (String) -> String? = value
    ) -> ProxySettings {
        var all = proxy
        if proxy.route == .environment { all.exclusions += exclusions(environment) }
        return all.excludes(url) ? .direct : proxy
    }

    /// The entries of `no_proxy` with a port, or an address in brackets. A name stands for its subdomains too, as in
    /// the other entries.
    private static func exclusions(_ environment: (String) -> String?) -> [String] {
        let list = ["no_proxy", "NO_PROXY"].compactMap(environment).first { !$0.isEmpty } ?? ""
        return list.split { $0 == "," || $0 == " " }.compactMap { entry in
            if entry.hasPrefix("[") { return String(entry) }
            guard entry.count(where: { $0 == ":" }) == 1 else { return nil }
            return entry.hasPrefix(".") ? String(entry) : "." + entry
        }
    }

    /// The proxy for a server; nil for none. Throws as ``ConnectionRoute/init(_:to:isSecure:environment:)`` does.
    func proxy(for host: String, isSecure: Bool) throws -> ConnectionRoute.Proxy? {
        let names = (isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]) + ["all_proxy", "ALL_PROXY"]
        guard let (name, text) = first(of: names), !excludes(host) else { return nil }
        guard let proxy = try ConnectionRoute.Proxy(variable: text) else {
            throw PulseError.invalidRequest(reason: "the variable \(name) is not the URL of a proxy")
        }
        return proxy
    }

    /// Whether no variable names a proxy.
    var isEmpty: Bool {
        ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].allSatisfy { environment($0) == nil }
    }

    private func first(of names: [String]) -> (name: String, value: String)? {
        for name in names {
            if let value = environment(name), !value.isEmpty { return (name, value) }
        }
        return nil
    }

    private func excludes(_ host: String) -> Bool {
        guard let list = first(of: ["no_proxy", "NO_PROXY"])?.value else { return false }
        guard list != "*" else { return true }
        let entries = list.split { $0 == "," || $0 == " " || $0 == "\t" }
        // Without the zone of an IPv6 address.
        if let address = IPNumbers.bytes(IPv4Text.dottedQuad(host) ?? String(host.prefix { $0 != "%" })) {
            return entries.contains { Self.matches($0, address) }
        }
        let name = Self.withoutFinalDot(host.asciiLowercased[...])
        return entries.contains { Self.matches($0, name) }
    }

    private static func matches(_ entry: Substring, _ address: [UInt8]) -> Bool {
        let parts = entry.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let base = IPNumbers.bytes(parts[0]), base.count == address.count else { return false }
        guard parts.count == 2 else { return base == address }
        guard let length = Int(parts[1]), 0...(8 * base.count) ~= length else { return false }
        return zip(base, address).enumerated().allSatisfy { index, bytes in
            let bits = min(max(length - 8 * index, 0), 8)
            return (bytes.0 ^ bytes.1) & UInt8(truncatingIfNeeded: 0xFF00 >> bits) == 0
        }
    }

    private static func matches(_ entry: Substring, _ name: Substring) -> Bool {
        var suffix = withoutFinalDot(String(entry).asciiLowercased[...])
        if suffix.first == "." { suffix = suffix.dropFirst() }
        guard !suffix.isEmpty, name.hasSuffix(suffix) else { return false }
        return name.count == suffix.count || name.dropLast(suffix.count).last == "."
    }

    private static func withoutFinalDot(_ name: Substring) -> Substring {
        name.last == "." ? name.dropLast() : name
    }
}
#endif
