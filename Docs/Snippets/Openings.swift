// SPDX-License-Identifier: MIT
//! The first listings of the articles: what each is about, in a few lines.

import PulseKit

struct Article: Codable, Sendable {
    let id: Int
    let title: String
}

struct SaveNote: Endpoint {
    typealias Response = EmptyResponse

    let text: String

    let path = "/notes"
    let method = HTTPMethod.post
    var body: RequestBody { .text(text) }
    let isQueueableWhenOffline = true
}

struct Prices: SocketEndpoint {
    let path = "/prices"
}

func authentication(_ url: URL, _ session: any TokenProvider) async throws {
    // snippet.authentication
    let client = PulseClient(baseURL: url, plugins: [.auth(session)])
    // An expired token is refreshed once, however many calls need it.
    let articles: [Article] = try await client.get("/articles")
    // snippet.end
    print(articles.count)
}

func connections(_ url: URL) {
    // snippet.connections
    let configuration = PulseConfiguration(baseURL: url)
        .with(\.sslPinningPolicy, value: .publicKeyHashes(["sha256/1Cz7aHR2e9mR3VNDYx2yAbGFMQYXzBOAVaDupraKW3Y="]))
        .with(\.cookieStore, value: MemoryCookieStore())
    // snippet.end
    print(configuration.timeout)
}

func endpoints(_ client: PulseClient) async throws {
    // snippet.endpoints
    struct GetArticle: Endpoint {
        typealias Response = Article

        let id: Int
        var path: PathText { "/articles/\(id)" }
    }

    let article = try await client.request(GetArticle(id: 7))
    // snippet.end
    print(article.title)
}

func errors(_ client: PulseClient) async throws {
    // snippet.errors
    do {
        let article: Article = try await client.get("/articles/7")
        print(article.title)
    } catch PulseError.http(let response) where response.statusCode == 404 {
        print("no such article")
    } catch let error as PulseError where error.isRetryable {
        print("please try again later")
    }
    // snippet.end
}

func graphQL(_ client: PulseClient) async throws {
    // snippet.graphQL
    let article = try await client.graphQL(query: "{ id title }", responseType: Article.self)
    // snippet.end
    print(article.title)
}

func limits(_ url: URL) {
    // snippet.limits
    let client = PulseClient(
        baseURL: url,
        plugins: [
            .idempotency(),  // one key for each POST, so that it can be retried
            .rateLimit(requests: 10, per: 1),  // ten a second for each host
            .concurrencyLimit(4),  // four at a time
        ])
    // snippet.end
    print(client.configuration.timeout)
}

func migrating(_ client: PulseClient, _ request: URLRequest) async throws {
    // snippet.migrating
    let response = try await client.rawRequest(request)  // the URLRequest that the app builds already
    let article = try response.decode(Article.self)
    // snippet.end
    print(article.title)
}

func observability() async {
    // snippet.observability
    let metrics = PulseMetricsCollector()
    metrics.attach(to: .shared)
    let snapshot = await metrics.snapshot()
    print(snapshot.successRate, snapshot.p99Latency)
    // snippet.end
}

func offline(_ url: URL) async throws {
    // snippet.offline
    let client = PulseClient(
        configuration: PulseConfiguration(baseURL: url).with(\.offlineQueuePolicy, value: OfflineQueuePolicy()))
    do {
        try await client.request(SaveNote(text: "Buy tea"))
    } catch PulseError.queuedOffline {
        print("saved; sent as soon as there is a connection, also after a kill")
    }
    // snippet.end
}

func plugins(_ url: URL, _ session: any TokenProvider) {
    // snippet.plugins
    let client = PulseClient(
        baseURL: url,
        plugins: [.auth(session), .cache(ttl: 300), .retry(maxAttempts: 3), .circuitBreaker(), .logger()])
    // snippet.end
    print(client.configuration.timeout)
}

func resilience(_ url: URL) {
    // snippet.resilience
    let client = PulseClient(
        configuration: PulseConfiguration(baseURL: url)
            .with(\.retryPolicy, value: RetryPolicy(maxAttempts: 5))
            .with(\.deadline, value: 20),
        plugins: [.hedging(), .circuitBreaker()])
    // snippet.end
    print(client.configuration.timeout)
}

func security(_ url: URL) {
    // snippet.security
    let client = PulseClient(baseURL: url, plugins: [.signing(secret: "from-your-vault")])
    // snippet.end
    print(client.configuration.timeout)
}

func sockets(_ client: PulseClient) async throws {
    // snippet.sockets
    let socket = PulseSocket(endpoint: Prices(), client: client)
    try await socket.connect()
    for await message in socket.messages { print(message) }  // over reconnects
    // snippet.end
}

func streaming(_ client: PulseClient) async throws {
    // snippet.streaming
    for try await event in client.serverSentEvents("/feed") { print(event.data) }  // over reconnects
    // snippet.end
}
