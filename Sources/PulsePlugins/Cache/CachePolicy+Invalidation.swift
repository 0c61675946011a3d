// SPDX-License-Identifier: MIT

import PulseCore

extension CachePolicy {
    /// The URLs whose stored answers become invalid: that of an unsafe request that was not refused, and those that its
    /// answer's `Location` and `Content-Location` name at the same origin (RFC 9111, section 4.4).
    static func invalidated(byStatus status: Int, _ headers: HTTPHeaders, to method: HTTPMethod, _ url: URL) -> [URL] {
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

extension PluginChain {
    /// The outcome of a request with an unsafe method, and the URLs of which it may have changed something. One whose
    /// answer was lost on the way, or refused here, may have changed what it was to change.
    func outcome(
        ofChange request: URLRequest, _ method: HTTPMethod, at url: URL, in call: Call
    ) async -> (result: Result<PulseResponse, PulseError>, changed: [URL]) {
        let sentBefore = call.sentCount
        let result = await result(request)
        switch result {
        case .success(let response):
            return (result, CachePolicy.invalidated(byStatus: response.statusCode, response.headers, to: method, url))
        case .failure(let error):
            return (result, error.mayHaveArrived || call.sentCount > sentBefore ? [url] : [])
        }
    }
}
