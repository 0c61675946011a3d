// SPDX-License-Identifier: MIT

public import PulseCore

/// The phase of one request, for a screen to show.
///
/// A failed refresh keeps the value: its phase is ``success(_:)``, and ``RequestModel/refreshError`` has the failure.
public enum RequestPhase<Value> {
    /// Nothing was requested yet, or the request was cancelled before it had a value.
    case idle
    /// The first value is loading.
    case loading
    /// The last value.
    case success(Value)
    /// The last value, while a new one is loading.
    case refreshing(Value)
    /// The request failed, and there is no value.
    case failure(PulseError)

    /// The value, if there is one.
    public var value: Value? {
        switch self {
        case .success(let value), .refreshing(let value): value
        case .idle, .loading, .failure: nil
        }
    }

    /// The failure, if there is no value because of it.
    public var error: PulseError? {
        if case .failure(let error) = self { error } else { nil }
    }

    /// Whether a value is loading: ``loading`` or ``refreshing(_:)``.
    public var isLoading: Bool {
        switch self {
        case .loading, .refreshing: true
        case .idle, .success, .failure: false
        }
    }
}

extension RequestPhase: Sendable where Value: Sendable {}
