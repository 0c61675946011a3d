// SPDX-License-Identifier: MIT

#if canImport(SwiftUI)
public import PulseCore
public import SwiftUI

/// The phase of a request, for a view.
///
/// ```swift
/// @APIRequest(GetUser(id: 1), autoFetch: true) private var user
/// ```
///
/// `user` is the ``RequestPhase``, `$user` the ``RequestModel``, for `$user.refresh()`. The client comes from
/// `EnvironmentValues.pulseClient`. The wrapper follows its argument: a view that gets another id shows another value.
///
/// The endpoint should be `Hashable`. Otherwise it must not change with every view update, such as by a timestamp in a
/// header field, since each change is another request.
@MainActor
@propertyWrapper
public struct APIRequest<E: Endpoint>: @preconcurrency DynamicProperty {
    private let endpoint: E
    private let fetches: Bool
    private let keepsValue: Bool
    @StateObject private var model: RequestModel<E>
    @Environment(\.chosenPulseClient) private var client

    /// Creates a request. It sends nothing before the view is shown.
    ///
    /// - Parameters:
    ///   - autoFetch: whether the request is fetched when the view is first shown, and again when its argument or the
    ///     client changes.
    ///   - refetch: when the value is requested again. The view needs `tracksVisibility(of:)` for it. Only the policy
    ///     of the first view update applies.
    ///   - keepsValue: whether the value stays after a change of the argument until there is a new value.
    public init(
        _ endpoint: E, autoFetch: Bool = false, refetch: RefetchPolicy = .manual, keepsValue: Bool = false
    ) {
        self.endpoint = endpoint
        fetches = autoFetch
        self.keepsValue = keepsValue
        _model = StateObject(wrappedValue: RequestModel(endpoint, optional: nil, refetch))
    }

    /// The current phase.
    public var wrappedValue: RequestPhase<E.Response> { model.phase }

    /// The model of the request.
    public var projectedValue: RequestModel<E> { model }

    /// Called by SwiftUI before it updates the view.
    public mutating func update() {
        model.update(endpoint, client: client, keepingValue: keepsValue, fetches: fetches)
    }
}
#endif
