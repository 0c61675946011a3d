// SPDX-License-Identifier: MIT

import Hummingbird
import PulseKit

extension Response {
    init(text: String, contentType: String, status: HTTPResponse.Status = .ok) {
        self.init(
            status: status, headers: [.contentType: contentType],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    /// The upstream's response with its status, body and media type.
    init(_ upstream: PulseResponse) {
        self.init(
            status: HTTPResponse.Status(code: upstream.statusCode),
            headers: [.contentType: upstream.headers["Content-Type"] ?? "application/octet-stream"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: upstream.data)))
        headers[.retryAfter] = upstream.headers["Retry-After"]
    }

    /// What the caller learns of a failed call. The texts of errors show no secret.
    init(_ error: PulseError) {
        if case .http(let response) = error {
            self.init(response)
            return
        }
        self.init(text: "\(error)\n", contentType: "text/plain; charset=utf-8", status: Self.status(of: error))
        if let seconds = error.retryAfter.flatMap({ Int(exactly: $0.rounded(.up)) }) {
            headers[.retryAfter] = "\(seconds)"
        }
    }

    private static func status(of error: PulseError) -> HTTPResponse.Status {
        switch error.kind {
        case .circuitOpen: .serviceUnavailable
        case .timeout, .deadlineExceeded: .gatewayTimeout
        case .invalidRequest, .invalidURL: .badRequest
        case .unauthorized: .unauthorized
        case .rateLimited: .tooManyRequests
        // The caller has left, so nothing reads it.
        case .cancelled: .serviceUnavailable
        default: .badGateway
        }
    }
}
