// SPDX-License-Identifier: MIT

public import PulseCalls
public import PulseCore

/// Loads the value of one request for a screen, and publishes the phase that the screen shows.
///
/// ```swift
/// let model = RequestModel(GetUser(id: 1), client: client)
/// model.fetch()
/// for await phase in model.phases { render(phase) }
/// ```
///
/// Models of one client with the same request share one call, its value and every phase. Requests are the same if their
/// endpoints are equal values of a `Hashable` type. Endpoints of another type are the same if they have the same
/// method, path, query, header fields, accepted statuses, and options for credentials and the cache, and no body.
///
/// A failed refresh keeps the value, and cancellation is not a failure: the phase becomes that from before the call. A
/// model that is released leaves the call, which is cancelled if no other model needs it.
@MainActor
public final class RequestModel<E: Endpoint> {
    /// The request of the model.
    public private(set) var endpoint: E
    let core: ModelCore<LoadedValue<E.Response>, RequestPhase<E.Response>>

    /// Creates a model. It sends nothing before ``fetch()``, ``refresh()`` or a trigger of its policy.
    public convenience init(_ endpoint: E, client: PulseClient, refetch: RefetchPolicy = .manual) {
        self.init(endpoint, optional: client, refetch)
    }

    /// - Parameter client: nil for ``PulseClient/default``, which is not read before a request starts.
    init(_ endpoint: E, optional client: PulseClient?, _ refetch: RefetchPolicy) {
        self.endpoint = endpoint
        core = ModelCore(Self.target(endpoint), client, refetch) { RequestPhase($0) }
    }

    /// The current phase.
    public var phase: RequestPhase<E.Response> { core.phase }

    /// The error of the last call if there is a value nevertheless; nil after a success.
    public var refreshError: PulseError? { core.state.content == nil ? nil : core.state.failure }

    /// The response that contained the value.
    public var response: PulseResponse? { core.state.content?.response }

    /// When the value was loaded, by the client's clock.
    public var updatedAt: Date? { core.state.content?.date }

    /// The current phase, then every change, until the model is released.
    ///
    /// Each access creates a stream, which buffers every phase until it is read: read the stream or drop it.
    /// ``PulseClient/RequestStore/removeAll()`` drops unread phases.
    public var phases: AsyncStream<RequestPhase<E.Response>> { core.updates() }

    /// Loads the value unless it is fresh. Joins a call in progress.
    ///
    /// The task ends with the call, and returns the resulting phase. It does not keep the call alive, since an awaited
    /// task cannot be distinguished from a discarded one: the models that requested the call do. When this model is
    /// released, cancelled or follows another request, or the task itself is cancelled, the task ends at once, with the
    /// phase from before the call. It never returns a phase in which a value is loading.
    @discardableResult
    public func fetch() -> Task<RequestPhase<E.Response>, Never> { core.ask(.fetch) }

    /// Requests a new value from the server, even if the value is fresh: a cache revalidates its response, unless the
    /// endpoint sets its own cache option.
    ///
    /// Replaces a call in progress; the tasks that wait for it get the new result. The task is as for ``fetch()``.
    @discardableResult
    public func refresh() -> Task<RequestPhase<E.Response>, Never> { core.ask(.refresh) }

    /// Leaves the call in progress, which is cancelled if no other model needs it.
    public func cancel() { core.cancel() }

    /// Marks the model as visible: the triggers of its policy apply from now on. If several screens show the model, it
    /// is visible until each has called ``disappear()``.
    public func appear() { core.appear() }

    /// Marks the model as no longer shown by a screen. A call in progress continues.
    public func disappear() { core.disappear() }

    /// Shows another request in place of this one; does nothing if it is the same. It sends nothing, unless the model
    /// is visible and has the trigger ``RefetchPolicy/Triggers/appear``.
    ///
    /// A request with a body always counts as another one if its endpoint is not `Hashable`. A property wrapper
    /// compares data, text, encoded values and URLs of files; it warns once about a multipart form or a stream, and
    /// ignores its changes. Of equal endpoints, the later one makes the next call, or the first if models share the
    /// request.
    ///
    /// - Parameter keepingValue: whether the value stays until the other request has one. By default it is dropped.
    public func follow(_ endpoint: E, keepingValue: Bool = false) {
        self.endpoint = endpoint
        core.follow(Self.target(endpoint), keepingContent: keepingValue)
    }

    /// Follows the argument of a property wrapper during a view update.
    func update(_ endpoint: E, client: PulseClient?, keepingValue: Bool, fetches: Bool) {
        self.endpoint = endpoint
        core.update(Self.target(endpoint), client: client, keepingContent: keepingValue, fetches: fetches)
    }

    private static func target(_ endpoint: E) -> ModelCore<LoadedValue<E.Response>, RequestPhase<E.Response>>.Target {
        .init(endpoint, isPaged: false, work: LoadedValue.work(endpoint))
    }
}

extension RequestPhase where Value: Sendable {
    init(_ state: RequestState<LoadedValue<Value>>) {
        if let content = state.content {
            self = state.loading == nil ? .success(content.value) : .refreshing(content.value)
        } else if state.loading != nil {
            self = .loading
        } else {
            self = state.failure.map { .failure($0) } ?? .idle
        }
    }
}
