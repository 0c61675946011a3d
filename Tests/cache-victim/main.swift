// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulseStorage

// Stores, reads and removes responses until the process kills itself, at a time given by its arguments. The expected
// body can be derived from the response, see `CacheKillScheduleTests`.
//
// Usage: cache-victim DIRECTORY SEED LIFETIME-IN-MICROSECONDS LEAST
//
// The lifetime starts when LEAST responses are stored, however busy the machine is.

let arguments = CommandLine.arguments
guard arguments.count == 5, let seed = UInt64(arguments[2]), let lifetime = useconds_t(arguments[3]),
    let least = Int(arguments[4])
else { exit(64) }

let store = DiskCacheStorage(directory: URL(fileURLWithPath: arguments[1]), maxBytes: 4 << 20, maxEntries: 30)

let stored = DispatchSemaphore(value: 0)

Thread.detachNewThread {
    for _ in 0..<least { stored.wait() }
    usleep(lifetime)
    kill(getpid(), SIGKILL)
}

func body(_ path: String, _ nonce: Int) -> Data {
    Data(String(repeating: "\(path) \(nonce)\n", count: nonce % 9_000).utf8)
}

await withTaskGroup(of: Void.self) { group in
    for writer in 0..<3 {
        group.addTask {
            for step in 0... {
                let nonce =
                    Int(truncatingIfNeeded: (seed &+ UInt64(writer * 1_000_003 + step)) &* 2_654_435_761 >> 8)
                    & 0xF_FFFF
                let path = "/\(nonce % 40)"
                let key = CacheKey(partition: "\(nonce % 2)", url: path)
                let head = CachedResponse.Head(
                    statusCode: 200, headers: ["X-Nonce": "\(nonce)"], requestTime: Date(), responseTime: Date(),
                    selectingFields: [.init(name: "x", value: "\(nonce % 3)")])
                let whole = body(path, nonce)
                do {
                    switch nonce % 7 {
                    case 0:
                        _ = try await store.remove(.key(key))
                    case 1:
                        let writer = try await store.writer(for: key)
                        _ = try await writer.write(whole.prefix(10))
                        _ = try await writer.write(whole.dropFirst(10))
                        _ = try await writer.commit(head)
                        stored.signal()
                    case 2:
                        guard var known = await store.responses(for: key).first else { continue }
                        known.head.headers["X-Updated"] = "1"
                        _ = try await store.store(known, for: key)
                    case 3:
                        // Two parts of the body, as the head declares.
                        guard whole.count > 20 else { continue }
                        let ranges = [0..<(nonce % 10 + 1), 15..<whole.count]
                        var part = head
                        part.parts = CachedResponse.Parts(ranges: ranges, length: whole.count)
                        let bytes = ranges.reduce(into: Data()) { $0 += whole[$1] }
                        _ = try await store.store(
                            CachedResponse(head: part, body: CachedResponse.Body(bytes)), for: key)
                        stored.signal()
                    default:
                        _ = try await store.store(
                            CachedResponse(head: head, body: CachedResponse.Body(whole)), for: key)
                        stored.signal()
                    }
                } catch {
                    FileHandle.standardError.write(Data("\(error)\n".utf8))
                    exit(70)
                }
            }
        }
    }
}
