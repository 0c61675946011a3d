// SPDX-License-Identifier: MIT

import PulseCore

extension CachePolicy {
    /// The URLs whose stored responses become invalid (RFC 9111, section 4.4): the URL of a successful unsafe request,
    /// and those in `Location` and `Content-Location` at the same origin.
    static func invalidated(byStatus status: Int, _ headers: HTTPHeaders, to method: HTTPMethod, _ url: URL) -> [URL] {
        guard !method.isSafe, (200..<400).contains(status) else { return [] }
        let own = URLComponents(url: url, resolvingAgainstBaseURL: true)
        var urls = [url]
        for name in ["Location", "Content-Location"] {
            guard let value = headers.octets(for: name).first, var parts = URLReference(value)?.parts(against: url)
            else {
                continue
            }
            // The client's requests to that origin carry the same user info, if any.
            (parts.percentEncodedUser, parts.percentEncodedPassword) = (
                own?.percentEncodedUser, own?.percentEncodedPassword
            )
            guard let named = parts.url, let origin = Origin(named), origin == Origin(url), !urls.contains(named) else {
                continue
            }
            urls.append(named)
        }
        return urls
    }
}

extension PluginChain {
    /// The outcome of a request, and the URLs that it may have changed: none if its method is safe. A request whose
    /// response was lost, or rejected by the client, may still have changed its target.
    func outcome(
        ofChange request: URLRequest, in call: Call
    ) async -> (result: Result<PulseResponse, PulseError>, changed: [URL]) {
        guard let method = HTTPMethod(rawValue: request.httpMethod ?? "GET"), !method.isSafe, let url = request.url
        else { return (await result(request), []) }
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
