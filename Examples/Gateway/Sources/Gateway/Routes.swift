// SPDX-License-Identifier: MIT

import Hummingbird
import PulseKit

extension Upstream {
    /// The routes of the gateway. `/debug/network` exists only if calls are recorded.
    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.get("/products/{id}") { request, context in
            // The router leaves values percent-encoded.
            guard let id = try context.parameters.require("id").removingPercentEncoding else {
                throw HTTPError(.badRequest)
            }
            return try await product(id, for: request)
        }
        router.get("/metrics") { _, _ in
            let page = PrometheusText().text(of: await metrics.snapshot())
            return Response(text: page, contentType: PrometheusText.contentType)
        }
        if let recorder {
            router.get("/debug/network") { _, _ in
                Response(
                    text: PulseReport(recorder.recording(), title: "Gateway").html,
                    contentType: "text/html; charset=utf-8")
            }
        }
        return router
    }

    /// Calls the upstream within the caller's trace and deadline, as long as the caller is there.
    private func product(_ id: String, for request: Hummingbird.Request) async throws -> Response {
        let call = PulseKit.Request<Data>(.get, "/products/\(id)")
            .option(\.deadline, request.milliseconds(in: DeadlineHeader.name).map { min($0 / 1000, timeout) })
        let trace = request.field("traceparent").flatMap {
            TraceContext(traceparent: $0, tracestate: request.field("tracestate"))
        }
        var response = try await request.body.consumeWithCancellationOnInboundClose { _ in
            await TraceContext.$current.withValue(trace) {
                do {
                    return Response(try await client.response(for: call).response)
                } catch {
                    return Response(PulseError(wrapping: error))
                }
            }
        }
        // Hummingbird closes a connection whose end it has watched for.
        response.headers[.connection] = "close"
        return response
    }
}

extension Hummingbird.Request {
    fileprivate func field(_ name: String) -> String? {
        headers.first { $0.name.canonicalName == name.lowercased() }?.value
    }

    /// A positive number of milliseconds; nil for anything else.
    fileprivate func milliseconds(in name: String) -> Double? {
        field(name).flatMap(Double.init).flatMap { $0 > 0 && $0.isFinite ? $0 : nil }
    }
}
