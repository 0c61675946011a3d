// SPDX-License-Identifier: MIT

public import PulseCore

extension RateLimitPlugin {
    /// Which calls share one limit.
    public struct Key: Sendable {
        /// Identifies one limit.
        enum Value: Hashable, Sendable {
            case origin(Origin)
            case name(String)
        }

        let value: @Sendable (URLRequest, PluginContext) -> Value?

        /// The calls to one origin (scheme, host and port). A redirect counts toward the limit of its target.
        public static let origin = Key { request, context in
            request.url.flatMap { context.origin(of: $0) }.map { .origin($0) }
        }

        /// The calls of one route, see ``PluginContext/route``, at any host.
        public static let route = Key { _, context in .name(context.route) }

        /// All calls that the plugin sees.
        public static let all = Key { _, _ in .name("") }

        /// The calls for which the closure returns the same name; nil leaves a call without a limit. The closure runs
        /// on any thread, concurrently, and should be quick.
        public static func custom(_ name: @escaping @Sendable (URLRequest, PluginContext) -> String?) -> Key {
            Key { request, context in name(request, context).map { .name($0) } }
        }
    }
}
