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
        /// The next validator judges it, and after the last it is the answer.
        case accept
        /// The attempt fails with that error, a ``PulseError`` as it is and any other as ``PulseError/custom(_:)``. The
        /// retry policy judges it as it would an error of the wire.
        case fail(any Error)
        /// Another answer takes its place, which the next validator judges.
        case replace(PulseResponse)
        /// The request is sent again after the strategy's wait, and the answer judged from the first validator on.
        ///
        /// - Parameter repeatsUnsafe: says that the server has not done what it was asked for, so that a POST may be sent
        ///   again though it has no key.
        /// - Parameter otherwise: what the attempt fails with if the request may not be repeated, or not any more.
        case retry(BackoffStrategy = .immediate, repeatsUnsafe: Bool = false, otherwise: any Error)
        /// What was amiss is put right first, once for all calls that find the same amiss; then as after `retry`.
        case recover(Recovery, repeatsUnsafe: Bool = false, otherwise: any Error)
    }

    let judge: @Sendable (URLRequest, PulseResponse, PluginContext) throws -> Verdict

    /// - Parameter judge: gets the request as it was sent, whatever the answer's status, and the body only of a buffered
    ///   answer. Called concurrently; it must not wait. What it throws is as good as ``Verdict/fail(_:)``.
    public init(_ judge: @escaping @Sendable (URLRequest, PulseResponse, PluginContext) throws -> Verdict) {
        self.judge = judge
    }

    /// For an API that puts its errors into a 200: reads the body of each accepted answer as that type, and fails with
    /// the error that the closure makes of it. A body of another shape, or a nil, is no error.
    ///
    /// `.errorBody(Fault.self) { $0.code == 0 ? nil : APIError(code: $0.code) }`
    ///
    /// The body is decoded once more than without: give `type` the members that tell, and no more.
    /// - Parameter decoder: the call's own if nil.
    public static func errorBody<Body: Decodable & Sendable>(
        _ type: Body.Type, using decoder: (any ResponseDecoder)? = nil,
        error: @escaping @Sendable (Body) -> (any Error)?
    ) -> Validator {
        errorBody(type, using: decoder) { body in error(body).map { .fail($0) } ?? .accept }
    }

    /// The same with a verdict of one's own: to renew a session, to try again.
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
