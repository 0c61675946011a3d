// SPDX-License-Identifier: MIT

import PulseCore

extension CachePolicy {
    /// The URLs whose stored answers become invalid: that of an unsafe request that was not refused, and those that its
    /// answer's `Location` and `Content-Location` name at the same origin (RFC 9111, section 4.4).
    func invalidated(byStatus status: Int, _ headers: HTTPHeaders, to method: HTTPMethod, _ url: URL) -> [URL] {
        guard !method.isSafe, (200..<400).contains(status) else { return [] }
        var urls = [url]
        for name in ["Location", "Content-Location"] {
            guard let value = headers[name], let named = URL(string: value, relativeTo: url)?.absoluteURL,
                let origin = Origin(named), origin == Origin(url), !urls.contains(named)
            else { continue }
            urls.append(named)
        }
        return urls
    }
}
