// SPDX-License-Identifier: MIT

public import PulseCore

/// Loads the value of one request for a screen, and knows what the screen has to show.
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
/// A failed refresh keeps the value, and cancellation is no failure: the phase becomes what it was before the call. A
/// model that is dropped leaves the call, which ends if no other model wants it.
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

    /// What a screen shows now.
    public var phase: RequestPhase<E.Response> { core.phase }

    /// Why the last call failed although there is a value; nil after a success.
    public var refreshError: PulseError? { core.state.content == nil ? nil : core.state.failure }

    /// The response of the value.
    public var response: PulseResponse? { core.state.content?.response }

    /// When the value was loaded, by the client's clock.
    public var updatedAt: Date? { core.state.content?.date }

    /// The current phase, then every change, until the model is dropped.
    ///
    /// Each read of the property creates a stream, which keeps every phase until it is read: read it or drop it.
    /// ``PulseClient/RequestStore/removeAll()`` drops what was not read.
    public var phases: AsyncStream<RequestPhase<E.Response>> { core.updates() }

    /// Loads the value unless it is fresh. Joins a call in progress.
    ///
    /// The task ends with the call, with the phase that follows. It does not keep the call, since a task that is
    /// awaited cannot be told from one that was discarded: the models that asked for the call keep it. When this model
    /// is dropped, cancelled or follows another request, or the task itself is cancelled, the task ends at once, with
    /// the phase from before the call. It never ends with a phase in which a value is on its way.
    @discardableResult
    public func fetch() -> Task<RequestPhase<E.Response>, Never> { core.ask(.fetch) }

    /// Asks the server for a new value, fresh or not: a cache revalidates its response, unless the endpoint says how to
    /// use the cache.
    ///
    /// Replaces a call in progress; the tasks that wait for it get the new result. The task is that of ``fetch()``.
    @discardableResult
    public func refresh() -> Task<RequestPhase<E.Response>, Never> { core.ask(.refresh) }

    /// Leaves the call in progress, which ends if no other model wants it.
    public func cancel() { core.cancel() }

    /// The model becomes visible: the triggers of its policy apply from now on. Several screens may show it: it is
    /// visible until each has called ``disappear()``.
    public func appear() { core.appear() }

    /// A screen no longer shows the model. A call in progress goes on.
    public func disappear() { core.disappear() }

    /// Shows another request in place of this one; does nothing if it is the same. It sends nothing, unless the model
    /// is visible and has the trigger ``RefetchPolicy/Triggers/appear``.
    ///
    /// A request with a body, of an endpoint that is not `Hashable`, is always another one. A property wrapper compares
    /// bodies of data, text and encoded values; it warns once of a form with parts or a stream, and does not follow it.
    /// Of equal endpoints the later one makes the next call, but the first if models share the request.
    ///
    /// - Parameter keepingValue: whether the value stays until the other request has one. By default it is dropped.
    public func follow(_ endpoint: E, keepingValue: Bool = false) {
        self.endpoint = endpoint
        core.follow(Self.target(endpoint), keepingContent: keepingValue)
    }

    /// Follows the argument of a property wrapper, while the view is updated.
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
