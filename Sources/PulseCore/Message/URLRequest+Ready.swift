// SPDX-License-Identifier: MIT

extension URLRequest {
    /// The absolute URL of a request that the app has made ready itself. Throws for one that cannot be sent as it is.
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
    /// The URL with its host as it is looked up: without escapes, and in Punycode (RFC 5891), which Foundation
    /// computes, where that is not ASCII. Layers below do neither, and would take it for another host than pins,
    /// cookies and credentials are for. Nil for a URL without an ``Origin``.
    package var withPlainHost: URL? {
        guard let origin = Origin(self) else { return nil }
        let text = absoluteString
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 >= 0x80 }), !origin.host.contains(":"),
            var parts = URLComponents(url: self, resolvingAgainstBaseURL: true),
            parts.percentEncodedHost?.asciiLowercased != origin.host
        else { return self }
        // Foundation takes the full-width form of a percent sign for one, and what it stands for may be anything; it
        // traps on what may not stand in a host.
        guard let host = URL(string: "https://\(origin.host)")?.host, !host.isEmpty,
            host.utf8.allSatisfy(ASCIISet.host.contains), host.hasLabel
        else { return nil }
        parts.percentEncodedHost = host
        return parts.url
    }
}
