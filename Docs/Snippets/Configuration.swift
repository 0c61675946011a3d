// SPDX-License-Identifier: MIT
//! Settings of a client, step by step, and of one call.

import PulseKit
import PulseTesting

let server = try await MockServer.start()
server.on(.get, "/report") { _ in .text("all is well") }
let url = server.baseURL

// snippet.copies
let base = PulseConfiguration(baseURL: url)
    .with(\.timeout, value: 20)
    .with(\.retryPolicy, value: RetryPolicy(maxAttempts: 5))
let patient = base.with(\.deadline, value: 120)  // a copy: `base` has no deadline
// snippet.end

// snippet.builder
let client = PulseClient.Builder(patient)
    .header("X-App-Version", "1.2")
    .secretHeaders(["X-Tenant-Key"])
    .maxBufferedBodySize(8 << 20)
    .plugin(.retry(maxAttempts: 3))
    .build()
// snippet.end

// snippet.call
let report: String = try await client.get(
    "/report",
    options: RequestOptions()
        .with(\.timeout, value: .infinity)  // without an idle limit
        .with(\.deadline, value: 300)  // but at most five minutes in all
        .with(\.retry, value: .never))
// snippet.end
print(report)

// snippet.queue
let queue = OfflineQueuePolicy(maxQueueSize: 500, requestExpiry: .infinity, whenFull: .dropOldest)
let mobile = base.with(\.offlineQueuePolicy, value: queue)
// snippet.end
print(mobile)
await client.shutdown()
await server.shutdown()
