// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// What calls must have in common to share one request. They want the response in the same form and under the same tag;
/// send time and failures must not depend on which call sends it.
struct CacheFlightKey: Hashable, Sendable {
    /// The inputs that inner plugins and the transport act on.
    struct Terms: Hashable, Sendable {
        /// Clients that share the plugin differ in their inner plugins and transport.
        let client: ObjectIdentifier
        /// Fewer headers are sent on a hop to a foreign origin.
        let isAway: Bool
        let options: SharedOptions
    }

    let key: CacheKey
    let delivery: TransportRequest.Delivery
    /// Nil for a request that no other call may share.
    let terms: Terms?
}

extension CacheLookup {
    /// Calls may share a request if they have no conditions, ranges or directives of their own, and want a buffered
    /// response.
    var mayBeShared: Bool {
        guard !isStreamed, rules.isPlain, rules.method != .head, rules.directives == CacheControl() else {
            return false
        }
        switch mode {
        case .default, .cacheElseNetwork, .staleWhileRevalidate: return true
        case .reload, .revalidate, .onlyIfCached, .bypass: return false
        }
    }

    /// - Parameter isOwn: whether no other call may share the request.
    func flightKey(isOwn: Bool = false) -> CacheFlightKey {
        let options = isOwn ? nil : SharedOptions(of: context, cache: nil)
        let terms = options.map {
            CacheFlightKey.Terms(
                client: ObjectIdentifier(context.call.environment), isAway: context.builtHeaders != nil, options: $0)
        }
        return CacheFlightKey(key: key, delivery: context.delivery, terms: terms)
    }
}
