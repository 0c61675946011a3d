// SPDX-License-Identifier: MIT

import PulseCore
import Testing

/// The URL of a valid text.
func url(_ text: String, at location: SourceLocation = #_sourceLocation) throws -> URL {
    try #require(URL(string: text), "\(text) is no URL", sourceLocation: location)
}

/// A request to the URL of a valid text.
func request(
    _ method: HTTPMethod = .get, _ text: String = "https://api.example.com/v1", headers: [String: String] = [:],
    body: Data? = nil
) throws -> URLRequest {
    var request = URLRequest(url: try url(text))
    request.httpMethod = method.rawValue
    request.allHTTPHeaderFields = headers
    request.httpBody = body
    return request
}
