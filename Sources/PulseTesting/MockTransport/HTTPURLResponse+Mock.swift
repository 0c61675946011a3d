// SPDX-License-Identifier: MIT

import PulseCore

extension HTTPURLResponse {
    /// Creates a response with a status and headers: `.mock(statusCode: 404)`.
    ///
    /// Never nil and never a trap: if Foundation refuses the parts, the headers are omitted. If that fails too, the
    /// result is an empty response with status 200.
    ///
    /// - Parameter url: the URL of the response; a placeholder by default.
    public static func mock(
        statusCode: Int = 200, headers: [String: String] = [:], url: URL? = nil
    ) -> HTTPURLResponse {
        // A file URL is the only URL that Foundation makes without an optional.
        let url = url ?? URL(string: "http://mock.test/") ?? URL(fileURLWithPath: "/")
        return HTTPURLResponse(url: url, statusCode: statusCode, httpVersion: "HTTP/1.1", headerFields: headers)
            ?? HTTPURLResponse(url: url, statusCode: statusCode, httpVersion: "HTTP/1.1", headerFields: nil)
            ?? .blank
    }

    private static var blank: HTTPURLResponse {
        // Never nil: no implementation of Foundation refuses these constants. No other initializer exists in all of
        // them.
        HTTPURLResponse(url: URL(fileURLWithPath: "/"), statusCode: 200, httpVersion: nil, headerFields: nil)!
    }
}
