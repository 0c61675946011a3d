// SPDX-License-Identifier: MIT

/// A decoded value and its response.
public struct DecodedResponse<Value: Sendable>: Sendable {
    /// The value decoded from the body of the response.
    public let value: Value
    /// The response: its status, headers, body and timings.
    public let response: PulseResponse

    /// The status code of the response.
    @inlinable
    public var statusCode: Int { response.statusCode }

    /// The header fields of the response.
    @inlinable
    public var headers: HTTPHeaders { response.headers }

    /// Pairs a value with its response, for test doubles of a client.
    @inlinable
    public init(value: Value, response: PulseResponse) {
        self.value = value
        self.response = response
    }
}
