// SPDX-License-Identifier: MIT
//! Cached responses: HTTP's own rules on disk, a plain time to live, and the options of a single call.

import PulseKit
import PulseTesting

struct Article: Codable, Sendable {
    let title: String
}

let server = try await MockServer.start()
server.on(.get, "/articles/{id}") { request in
    let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"7\""]
    guard request.headers["If-None-Match"] == nil else { return .status(304, headers: headers) }
    return .text(#"{"title": "Tea"}"#, headers: headers)
}

// snippet.rfc9111
let cache = CachePlugin(
    policy: .rfc9111, storage: .disk(directory: DiskCacheStorage.defaultDirectory(), maxBytes: 64 << 20))
let client = PulseClient(configuration: PulseConfiguration(baseURL: server.baseURL), plugins: [cache])

let first = try await client.response(for: Request<Article>(.get, "/articles/7"))
let second = try await client.response(for: Request<Article>(.get, "/articles/7"))
// first.response.origin is .network, second.response.origin is .cache
// snippet.end
print(first.response.origin, second.response.origin)

// snippet.ttl
let simple = PulseClient(
    configuration: PulseConfiguration(baseURL: server.baseURL), plugins: [.cache(ttl: 300, maxMemoryItems: 200)])
// snippet.end
print(try await simple.response(for: Request<Article>(.get, "/articles/7")).response.origin)

// snippet.options
let article = Request<Article>(.get, "/articles/7")
let fresh = try await client.request(article.option(\.cache, .reload))
let shownAtOnce = try await client.request(article.option(\.cache, .staleWhileRevalidate))
let offline = await client.result(of: article.option(\.cache, .onlyIfCached))  // or PulseError.cacheMiss
// snippet.end
print(fresh.title, shownAtOnce.title, offline)

server.on(.get, "/film") { request in
    let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\""]
    switch request.headers["Range"] {
    case "bytes=0-3"?: return .text("once", status: 206, headers: headers).header("Content-Range", "bytes 0-3/9")
    case "bytes=4-8"?: return .text(" upon", status: 206, headers: headers).header("Content-Range", "bytes 4-8/9")
    default: return .text("once upon", headers: headers)
    }
}

// snippet.ranges
let start = Request<Data>(.get, "/film").header("Range", "bytes=0-3")
let opening = try await client.request(start)  // a 206, stored
let film = try await client.request(Request<Data>(.get, "/film"))  // asks for "bytes=4-8" and joins the two
let scene = try await client.request(Request<Data>(.get, "/film").header("Range", "bytes=2-5"))  // from the store
// snippet.end
print(opening.count, film.count, scene.count)

// snippet.conditions
let policy = CachePolicy.rfc9111.respondingToConditionalRequests()
let judging = PulseClient(
    configuration: PulseConfiguration(baseURL: server.baseURL), plugins: [.cache(policy: policy)])
// snippet.end
let sameAgain = try await judging.rawRequest(
    article.header("If-None-Match", "\"7\"").option(\.acceptedStatuses, .any))
print(sameAgain.statusCode)

// snippet.invalidate
let page = Request<Article>(.get, "/articles/7").option(\.tag, "articles")
try await client.request(page)

await cache.invalidate(url: server.baseURL.appendingPathComponent("articles/7"))
await cache.invalidate(prefix: server.baseURL.appendingPathComponent("articles/"))
await cache.invalidate(tag: "articles")
await cache.clearAll(account: "ada")  // at logout
await cache.clearAll()
// snippet.end

// snippet.statistics
let statistics = await cache.statistics
let ratio = statistics.hitRatio ?? 0  // hits, stale, shared and validated responses of all requests
// snippet.end
print(ratio, statistics.entries)

await client.shutdown()
await simple.shutdown()
await judging.shutdown()
await server.shutdown()
