// SPDX-License-Identifier: MIT

public import PulseCore

/// Judges a response: one element of a ``ValidatorPlugin``.
///
/// ```swift
/// let maintenance = Validator { _, response, _ in
///     response.headers["X-Maintenance"] == nil ? .accept : .fail(Maintenance())
/// }
/// ```
public struct Validator: Sendable {
    /// A validator's verdict on a response.
    public enum Verdict: Sendable {
        /// The response passes to the next validator, and after the last one to the caller.
        case accept
        /// The attempt fails with this error: a ``PulseError`` unchanged, any other as ``PulseError/custom(_:)``. The
        /// retry policy treats it like a network error.
        case fail(any Error)
        /// This response replaces the original, and passes to the next validator.
        case replace(PulseResponse)
        /// The request is resent after the strategy's delay, and the response is judged from the first validator on.
        ///
        /// - Parameter retriesUnsafeMethods: whether the server is known not to have performed the request, so that a
        ///   POST without a key may be resent.
        /// - Parameter otherwise: the error of the attempt if the request may not be resent, or not again.
        case retry(BackoffStrategy = .immediate, retriesUnsafeMethods: Bool = false, otherwise: any Error)
        /// The recovery runs first, once for all calls that ask for the same one; then the request is resent as after
        /// `retry`.
        case recover(Recovery, retriesUnsafeMethods: Bool = false, otherwise: any Error)
    }

    let judge: @Sendable (URLRequest, PulseResponse, PluginContext) throws -> Verdict

    /// Creates a validator from a closure.
    ///
    /// - Parameter judge: receives the request as sent, and the response with any status; the body only if the response
    ///   is buffered. Called concurrently; it must not block. An error that it throws counts as ``Verdict/fail(_:)``.
    public init(_ judge: @escaping @Sendable (URLRequest, PulseResponse, PluginContext) throws -> Verdict) {
        self.judge = judge
    }

    /// A validator for an API that reports errors inside a 200. It decodes the body of each accepted response as this
    /// type, and fails with the error that the closure returns. A body of another shape, or a nil, is not an error.
    ///
    /// `.errorBody(Fault.self) { $0.code == 0 ? nil : APIError(code: $0.code) }`
    ///
    /// The body is decoded one more time: give `type` only the members that matter.
    /// - Parameter decoder: the call's own if nil.
    public static func errorBody<Body: Decodable & Sendable>(
        _ type: Body.Type, using decoder: (any ResponseDecoder)? = nil,
        error: @escaping @Sendable (Body) -> (any Error)?
    ) -> Validator {
        errorBody(type, using: decoder) { body in error(body).map { .fail($0) } ?? .accept }
    }

    /// A validator that decodes the body of each accepted response as this type and returns the closure's verdict: to
    /// renew a session, or to retry. A body of another shape is accepted.
    public static func errorBody<Body: Decodable & Sendable>(
        _ type: Body.Type, using decoder: (any ResponseDecoder)? = nil,
        verdict: @escaping @Sendable (Body) -> Verdict
    ) -> Validator {
        Validator { _, response, context in
            guard !response.data.isEmpty,
                (context.options.acceptedStatuses ?? .successful).contains(response.statusCode),
                let body = try? response.decode(type, using: decoder ?? response.decoder ?? .json)
            else { return .accept }
            return verdict(body)
        }
    }
}
