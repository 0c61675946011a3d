// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore

/// The value of a request, with its response.
struct LoadedValue<Value: Sendable>: RequestContent {
    let value: Value
    let response: PulseResponse
    let date: Date

    var hasMore: Bool { false }
}

extension LoadedValue {
    /// The call of a request for one value.
    static func work<E: Endpoint>(_ endpoint: E) -> SharedRequest<LoadedValue>.Work where E.Response == Value {
        { client, _, run in
            let options = client.options(of: endpoint, asksServer: run.asksServer)
            let loaded = try await client.response(for: endpoint, options: options)
            return LoadedValue(
                value: loaded.value, response: loaded.response, date: client.environment.clock.now)
        }
    }
}

extension PulseClient {
    /// The options of a model's call. With `asksServer`, caches revalidate, unless the endpoint sets the cache option.
    func options(of endpoint: some Endpoint, asksServer: Bool) -> RequestOptions {
        var options = RequestOptions()
        let own = endpoint.options
        guard asksServer, own.cache == nil else { return options }
        // Without a cache the option has no effect, and the client would warn about it.
        let hasCache = pipeline(for: endpoint.plugins, own).plugins.contains { $0.identifier == "com.pulse.cache" }
        if hasCache { options.cache = .revalidate }
        return options
    }
}
