// SPDX-License-Identifier: MIT

extension URLRequest {
    /// The absolute URL of a request that the app prepared itself. Throws if the request cannot be sent as it is.
    package func readyURL() throws -> URL {
        guard let url = url?.absoluteURL.withPlainHost, url.scheme?.lowercased().hasPrefix("http") == true else {
            throw PulseError.invalidURL("a ready request needs an absolute http or https URL")
        }
        guard httpBodyStream == nil else {
            throw PulseError.unsupported("httpBodyStream can be read only once; use RequestBody.stream")
        }
        return url
    }
}

extension URL {
    /// The URL with its host as used for name resolution: percent-decoded, and in Punycode (RFC 5891) if it is not
    /// ASCII, as Foundation computes it. Lower layers do neither, and would connect to a host other than that of the
    /// pins, cookies and credentials. Nil for a URL without an ``Origin``.
    package var withPlainHost: URL? {
        guard let origin = Origin(self) else { return nil }
        let text = absoluteString
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 >= 0x80 }), !origin.host.contains(":"),
            var parts = URLComponents(url: self, resolvingAgainstBaseURL: true),
            parts.percentEncodedHost?.asciiLowercased != origin.host
        else { return self }
        // Foundation turns a full-width percent sign into an ASCII one, whose escape may stand for anything. It also
        // traps on bytes that are not allowed in a host.
        guard let host = URL(string: "https://\(origin.host)")?.absoluteString.dropFirst("https://".count),
            host.utf8.allSatisfy(ASCIISet.host.contains), host.hasLabel
        else { return nil }
        parts.percentEncodedHost = String(host)
        return parts.url
    }
}
