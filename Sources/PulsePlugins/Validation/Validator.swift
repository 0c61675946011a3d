// SPDX-License-Identifier: MIT

public import PulseCore

/// Judges an answer: one link of a ``ValidatorPlugin``.
///
/// ```swift
/// let maintenance = Validator { _, response, _ in
///     response.headers["X-Maintenance"] == nil ? .accept : .fail(Maintenance())
/// }
/// ```
public struct Validator: Sendable {
    /// What a validator makes of an answer.
    public enum Verdict: Sendable {
        /// The answer passes to the next validator; after the last one it goes to the caller.
        case accept
        /// The attempt fails with that error: a ``PulseError`` as it is, any other as ``PulseError/custom(_:)``. The
        /// retry policy treats it like an error of the wire.
        case fail(any Error)
        /// Another answer takes its place, which the next validator judges.
        case replace(PulseResponse)
        /// The request is sent again after the strategy's wait, and the answer judged from the first validator on.
        ///
        /// - Parameter repeatsUnsafe: says that the server has not done what it was asked for, so that a POST may be
        ///   sent again though it has no key.
        /// - Parameter otherwise: what the attempt fails with if the request may not be repeated, or not any more.
        case retry(BackoffStrategy = .immediate, repeatsUnsafe: Bool = false, otherwise: any Error)
        /// The recovery runs first, once for all calls that ask for the same; then the request is sent again as after
        /// `retry`.
        case recover(Recovery, repeatsUnsafe: Bool = false, otherwise: any Error)
    }

    let judge: @Sendable (URLRequest, PulseResponse, PluginContext) throws -> Verdict

    /// A validator from a closure.
    ///
    /// - Parameter judge: gets the request as it was sent and the answer, whatever its status; the body only of a
    ///   buffered answer. Called concurrently; it must not wait. What it throws counts as ``Verdict/fail(_:)``.
    public init(_ judge: @escaping @Sendable (URLRequest, PulseResponse, PluginContext) throws -> Verdict) {
        self.judge = judge
    }

    /// A validator for an API that puts its errors into a 200: reads the body of each accepted answer as that type, and
    /// fails with the error that the closure makes of it. A body of another shape, or a nil, is not an error.
    ///
    /// `.errorBody(Fault.self) { $0.code == 0 ? nil : APIError(code: $0.code) }`
    ///
    /// The body is decoded once more than without: give `type` only the members that tell.
    /// - Parameter decoder: the call's own if nil.
    public static func errorBody<Body: Decodable & Sendable>(
        _ type: Body.Type, using decoder: (any ResponseDecoder)? = nil,
        error: @escaping @Sendable (Body) -> (any Error)?
    ) -> Validator {
        errorBody(type, using: decoder) { body in error(body).map { .fail($0) } ?? .accept }
    }

    /// A validator that reads the body of each accepted answer as that type and takes the closure's verdict: to renew a
    /// session, to try again. A body of another shape is accepted.
    public static func errorBody<Body: Decodable & Sendable>(
        _ type: Body.Type, using decoder: (any ResponseDecoder)? = nil,
        verdict: @escaping @Sendable (Body) -> Verdict
    ) -> Validator {
        Validator { _, response, context in
            let options = context.options
            guard response.bytes == nil, response.file == nil, !response.data.isEmpty,
                (options.acceptedStatuses ?? .successful).contains(response.statusCode),
                let body = try? response.decode(type, using: decoder ?? options.decoder ?? .json)
            else { return .accept }
            return verdict(body)
        }
    }
}
