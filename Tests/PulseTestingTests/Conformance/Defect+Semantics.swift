// SPDX-License-Identifier: MIT

import PulseCore

extension Defect {
    /// Defects of a transport without a socket.
    static let ofSemantics: [Defect] = [
        Defect(
            "sends every request as a GET", noticedBy: "PURGE is sent unchanged and gets its response",
            "HEAD is sent unchanged and gets its response", "PROPFIND sends a body of bytes",
            sending: { $0.httpMethod = "GET" }),
        Defect(
            "drops the query", noticedBy: "GET is sent unchanged and gets its response",
            "the request target keeps its encoding",
            sending: { $0.url = $0.url.flatMap { URL(string: $0.absoluteString.components(separatedBy: "?")[0]) } }),
        Defect(
            "loses the body", noticedBy: "DELETE sends a body of bytes", "a body of 1 MB arrives whole",
            sending: { $0.httpBody = nil }),
        Defect(
            "truncates long bodies", noticedBy: "a body of 1 MB arrives whole",
            sending: { $0.httpBody = $0.httpBody?.prefix(1 << 16) }),
        Defect(
            "drops a header", noticedBy: "header values arrive unchanged",
            sending: { $0.setValue(nil, forHTTPHeaderField: "X-Signs") }),
        Defect(
            "replaces the User-Agent", noticedBy: "header values arrive unchanged",
            sending: { $0.setValue("Other/1.0", forHTTPHeaderField: "User-Agent") }),
        Defect(
            "drops long headers", noticedBy: "a header value of 32 KB arrives whole",
            sending: { $0.setValue(nil, forHTTPHeaderField: "X-Long") }),
        Defect(
            "truncates a long URL", noticedBy: "a request line and header fields that are too large are refused unsent",
            sending: { $0.url = $0.url.flatMap { URL(string: String($0.absoluteString.prefix(8192))) } }),
        Defect(
            "refuses header fields below the maximum size",
            noticedBy: "a request line and header fields of the maximum size arrive",
            fault: { base, request in
                let length = request.urlRequest.value(forHTTPHeaderField: "X-Long")?.count ?? 0
                guard length < 60_000 else { throw PulseError.invalidRequest(reason: "too long") }
                return try await base.send(request)
            }),
        Defect(
            "drops empty headers", noticedBy: "an empty header value arrives empty",
            sending: { $0.setValue(nil, forHTTPHeaderField: "X-Empty") }),
        Defect(
            "adds a Content-Type to bodies",
            noticedBy: "a body is sent without a Content-Type or Expect that the caller did not set",
            sending: { request in
                guard request.httpBody != nil, request.value(forHTTPHeaderField: "Content-Type") == nil else { return }
                request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
            }),
        Defect(
            "asks caches for fresh responses", noticedBy: "no header field is added that the client decides about",
            sending: { $0.setValue("no-cache", forHTTPHeaderField: "Cache-Control") }),
        Defect(
            "drops a header of the response", noticedBy: "200 response header fields arrive",
            returning: { $0.headers.remove("X-Field-150") }),
        Defect(
            "joins cookies", noticedBy: "repeated Set-Cookie lines stay separate",
            returning: { response in
                let joined = response.headers.values(for: "Set-Cookie").joined(separator: ", ")
                response.headers["Set-Cookie"] = joined
            }),
        Defect(
            "keeps the last of repeated lines", noticedBy: "repeated header lines keep their order",
            returning: { response in
                response.headers["X-Multi"] = response.headers.values(for: "X-Multi").last
            }),
        Defect(
            "sets the Content-Length of a HEAD response to its body's",
            noticedBy: "a response to HEAD has header fields and no body",
            returning: { $0.headers["Content-Length"] = String($0.data.count) }),
        Defect(
            "decodes text", noticedBy: "a response body arrives byte for byte",
            returning: { $0.data = Data(String(decoding: $0.data, as: UTF8.self).utf8) }),
        Defect(
            "maps all success statuses to one",
            noticedBy: "every status from 200 to 299 is returned",
            "204 ends after its header fields, and the next response is separate",
            returning: { if $0.statusCode < 300 { $0.statusCode = 200 } }),
        Defect(
            "throws for error statuses", noticedBy: "every status from 400 to 499 is returned",
            "401 with the challenge Bearer is returned after one request",
            fault: { base, request in
                let response = try await base.send(request)
                guard response.statusCode < 400 else { throw PulseError.http(response) }
                return response
            }),
        Defect(
            "retries after a Retry-After",
            noticedBy: "425, 429 and 503 with Retry-After are returned after one request",
            fault: { base, request in
                let response = try await base.send(request)
                return response.headers.contains("Retry-After") ? try await base.send(request) : response
            }),
        Defect(
            "follows redirects",
            noticedBy: "301 to GET is returned with body and Location, and not followed",
            "308 to POST is returned with body and Location, and not followed",
            fault: { base, request in
                let response = try await base.send(request)
                guard let location = response.headers["Location"], let url = request.urlRequest.url else {
                    return response
                }
                var next = request
                next.urlRequest.url = URL(string: location, relativeTo: url)
                return try await base.send(next)
            }),
        Defect(
            "ignores the limit", noticedBy: "a body of one byte more than the limit is too large",
            "the limit applies to the body of an error status",
            "a transport keeps working after a body that was too large",
            fault: { base, request in
                var request = request
                request.delivery = .buffered(limit: .max)
                return try await base.send(request)
            }),
        Defect(
            "is off by one at the limit", noticedBy: "a body of exactly the limit is returned",
            fault: { base, request in
                let response = try await base.send(request)
                if case .buffered(let limit) = request.delivery, response.data.count >= limit {
                    throw PulseError.responseTooLarge(limit: limit)
                }
                return response
            }),
        Defect(
            "buffers a streamed delivery", noticedBy: "a streamed delivery arrives whole or is refused unsent",
            "a delivery to a file arrives whole or is refused unsent",
            fault: { base, request in
                var request = request
                request.delivery = .buffered(limit: .max)
                return try await base.send(request)
            }),
        Defect(
            "refuses a stream after sending", noticedBy: "a streamed delivery arrives whole or is refused unsent",
            fault: { base, request in
                let response = try await base.send(request)
                if case .streamed = request.delivery { throw PulseError.unsupported("streams") }
                return response
            }),
        Defect(
            "ignores cancellation", noticedBy: "a task cancelled before it starts sends nothing",
            "a cancellation while the server delays ends the wait and the connection",
            fault: { base, request in
                try await Task { try await base.send(request) }.value
            }),
        Defect(
            "remembers responses", noticedBy: "a cacheable response is requested again",
            fault: remembering()),
        Defect(
            "sends cookies back", noticedBy: "Set-Cookie is returned and not sent back",
            fault: sendingCookies()),
        Defect(
            "mixes up responses", noticedBy: "two hundred concurrent requests each get their own response",
            fault: mixingUpResponses()),
    ]

    private static func remembering() -> @Sendable (any Transport, TransportRequest) async throws -> PulseResponse {
        let responses = Locked<[URL: PulseResponse]>([:])
        return { base, request in
            guard let url = request.urlRequest.url, request.urlRequest.httpMethod == "GET" else {
                return try await base.send(request)
            }
            if let response = responses.withLock({ $0[url] }) { return response }
            let response = try await base.send(request)
            responses.withLock { $0[url] = response }
            return response
        }
    }

    private static func sendingCookies() -> @Sendable (any Transport, TransportRequest) async throws -> PulseResponse {
        let cookie = Locked<String?>(nil)
        return { base, request in
            var request = request
            if let value = cookie.withLock({ $0 }) { request.urlRequest.setValue(value, forHTTPHeaderField: "Cookie") }
            let response = try await base.send(request)
            if let value = response.headers["Set-Cookie"] { cookie.withLock { $0 = value } }
            return response
        }
    }

    private static func mixingUpResponses() -> @Sendable (any Transport, TransportRequest) async throws -> PulseResponse
    {
        let last = Locked<PulseResponse?>(nil)
        return { base, request in
            let response = try await base.send(request)
            return last.withLock { last in
                defer { last = response }
                return last ?? response
            }
        }
    }
}
