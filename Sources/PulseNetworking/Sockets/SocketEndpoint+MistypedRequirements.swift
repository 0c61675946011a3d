// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore

extension SocketEndpoint {
    /// The stored properties that look like requirements but are not.
    var mistypedRequirements: [MistypedRequirement] {
        let pairs = "[String: String]"
        return MistypedRequirement.all(
            of: self, for: "SocketEndpoint",
            [
                .init("queryParameters", pairs, [String: String].self) { queryParameters.isEmpty },
                .init("queryItems", "[URLQueryItem]", [URLQueryItem].self) { queryItems.isEmpty },
                .init("headers", pairs, [String: String].self) { headers.isEmpty },
                .init("plugins", "[any PulsePlugin]", [any PulsePlugin].self) { plugins.isEmpty },
                .init("options", "RequestOptions", RequestOptions.self) { options.isEmpty },
                .init("subprotocols", "[String]", [String].self) { subprotocols.isEmpty },
                .init("pingInterval", "TimeInterval", TimeInterval.self, Int.self) { seconds == 30 },
                .init("socketOptions", "SocketOptions", SocketOptions.self) { true },  // not comparable
            ], misnomers)
    }

    // The type annotation matters: a comparison with a literal would use the `Int` property, which has a default.
    private var seconds: TimeInterval { pingInterval }

    private var hasNoQuery: Bool {
        let path = try? path.requestPath.text
        return queryParameters.isEmpty && queryItems.isEmpty && path?.utf8.contains(UInt8(ascii: "?")) != true
    }

    private var misnomers: [MistypedRequirement.Misnomer] {
        [
            .init(
                ["query", "queryParams", "params", "parameters"], "queryParameters or queryItems",
                fits: MemberMeaning.isPairs
            ) { _ in hasNoQuery },
            .init(["header", "httpHeaders", "headerFields"], "headers", fits: MemberMeaning.isPairs) { _ in
                headers.isEmpty && options.headers == nil
            },
            .init(["url", "baseURL"], "path, which may be an absolute URL", fits: MemberMeaning.isURL) {
                MemberMeaning.isUnused($0, by: try? path.requestPath.text)
            },
            .init(
                ["subprotocol", "protocols"], "subprotocols, an array of texts",
                fits: { $0 is String || $0 is [String] }
            ) { _ in subprotocols.isEmpty },
            .init(["ping", "pingEvery", "heartbeat"], "pingInterval, in seconds", fits: MemberMeaning.isTime) { _ in
                seconds == 30
            },
            .init(["timeout", "timeoutInterval"], "options.timeout, in seconds", fits: MemberMeaning.isTime) { _ in
                options.timeout == nil
            },
        ]
    }
}

#if DEBUG
extension EndpointCheck {
    func check<E: SocketEndpoint>(_ endpoint: E) {
        warn(of: E.self) { endpoint.mistypedRequirements }
    }
}
#endif
