// SPDX-License-Identifier: MIT

import PulseCore

/// A call before it starts: its request, its chain and its carrier.
package struct CallPlan {
    package let call: Call
    let pipeline: PluginPipeline
    let carrier: any Carrier
    /// Builds the request, once the call has started. An error ends the call.
    let build: () throws -> BuiltRequest

    init(_ call: Call, _ pipeline: PluginPipeline, _ carrier: any Carrier, build: @escaping () throws -> BuiltRequest) {
        self.call = call
        self.pipeline = pipeline
        self.carrier = carrier
        self.build = build
    }

    /// The plan of the same call, which ends before anything is sent if `body` throws for the built request.
    package func inspected(by body: @escaping (BuiltRequest) throws -> Void) -> CallPlan {
        CallPlan(call, pipeline, carrier) {
            let request = try build()
            try body(request)
            return request
        }
    }
}

/// How the call of an endpoint differs from a buffered response to one request.
package struct CallShape {
    /// Nil for a buffered body.
    let delivery: TransportRequest.Delivery?
    /// The `Accept` of a request that does not set it; nil for the media type of the decoder.
    let accept: String?
    /// Whether another server chose the URL, which then must not receive secrets, even if the client has no home.
    let isForeign: Bool
    /// The type that names the route if the options do not; nil for the endpoint's type.
    let routeType: Any.Type?
    /// Nil for a ``DirectCarrier``. Any other carrier reports progress itself, so its requests are not reported to the
    /// call's own listener.
    let carrier: (any Carrier)?
    /// Replaces the client's transport; nil for none.
    let substitute: Substitute?

    package init(
        delivery: TransportRequest.Delivery? = nil, accept: String? = nil, isForeign: Bool = false,
        routeType: Any.Type? = nil, carrier: (any Carrier)? = nil, substitute: Substitute? = nil
    ) {
        self.delivery = delivery
        self.accept = accept
        self.isForeign = isForeign
        self.routeType = routeType
        self.carrier = carrier
        self.substitute = substitute
    }

    /// A transport for some of a client's calls, with the environment of these calls.
    package struct Substitute {
        let transport: any Transport
        let environment: CallEnvironment

        package init(_ transport: any Transport, in environment: CallEnvironment) {
            self.transport = transport
            self.environment = environment
        }
    }
}

/// Turns the request of a call into its response: sends it unchanged, in parts, or until a file is complete.
package protocol Carrier: Sendable {
    func response(to request: BuiltRequest, over route: CallRoute) async throws -> PulseResponse
}

/// Sends the requests of a call through its chain, and follows their redirects.
package struct CallRoute: Sendable {
    package let call: Call
    let pipeline: PluginPipeline
    let follower: RedirectFollower

    /// Sends a request and follows its redirects. Returns the last response, with any status.
    package func send(_ request: BuiltRequest, cache: RequestOptions.Cache? = nil) async throws -> PulseResponse {
        try await follower.send(request, for: call, through: pipeline, cache: cache)
    }
}

/// Sends the request unchanged, through the offline gate if there is one, and decodes the response.
struct DirectCarrier: Carrier {
    let gate: OfflineGate?
    let decode: PulseClient.Decode

    init(_ gate: OfflineGate? = nil, decode: @escaping PulseClient.Decode = { _, _ in }) {
        self.gate = gate
        self.decode = decode
    }

    func response(to request: BuiltRequest, over route: CallRoute) async throws -> PulseResponse {
        let call = route.call
        let response =
            if let gate { try await gate.send(request, over: route) } else { try await route.send(request) }
        do {
            try call.accept(response, decode)
            return response
        } catch let error as PulseError
            where error.isOfTheBody && response.origin.isStored && request.mayStartAgain
            && call.options.cache != .onlyIfCached
        {
            // A stored body may be damaged, or older than the app's types, so the client reloads it once. A reload
            // resends the first hop, so it requires an idempotent request: it must not repeat a POST.
            let fresh = try await route.send(request, cache: .reload)
            try call.accept(fresh, decode)
            return fresh
        }
    }
}

extension Call {
    /// Decodes a response with an accepted status, and throws the error of any other.
    ///
    /// - Parameter accepted: nil for the statuses that the call accepts.
    package func accept(
        _ response: PulseResponse, _ decode: PulseClient.Decode, _ accepted: RequestOptions.AcceptedStatuses? = nil
    ) throws {
        let accepted = accepted ?? options.acceptedStatuses ?? .successful
        if let error = PulseError(validating: response, accepted: accepted, now: environment.clock.now),
            PluginContext.Store(call: self)[CallOutcome.self]?(response, accepted) != true
        {
            response.discard()
            throw error
        }
        try decode(response, options.decoder ?? .json)
    }
}

extension PulseError {
    /// Whether the body of the response is missing or cannot be decoded.
    fileprivate var isOfTheBody: Bool {
        switch kind {
        case .decodingFailed, .emptyBody: true
        default: false
        }
    }
}
