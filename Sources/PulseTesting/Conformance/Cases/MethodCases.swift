// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    /// CONNECT is missing: it asks a proxy for a tunnel and is never sent to a server.
    static let methods: [Self] = ([.get, .head, .post, .put, .patch, .delete, .options, .trace, .query] + unregistered)
        .map { method in
            .semantics("\(method) is sent unchanged and gets its response") { request in
                .text("answer to \(request.method)", headers: ["X-Method": request.method.rawValue])
            } verify: { stage in
                let response = try await stage.send(stage.request(method, "/a/b?c=d"))
                let request = try stage.onlyRequest()
                try Check.equal(request.method, method, "the method that arrived")
                try Check.equal(request.target, "/a/b?c=d", "the target that arrived")
                try Check.equal(request.body, Data(), "the body that arrived")
                try Check.equal(response.statusCode, 200, "the status")
                try Check.equal(response.headers["X-Method"], method.rawValue, "the response's header")
                try Check.equal(response.text, method == .head ? "" : "answer to \(method)", "the response's body")
            }
        }

    private static let unregistered = ["PURGE", "PROPFIND", "X-OWN.METHOD"].compactMap(HTTPMethod.init(rawValue:))
}
