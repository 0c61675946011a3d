// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransfers

#if !canImport(UIKit)
/// A process that downloads is killed again and again while the content changes now and then: the file is the old one or
/// a whole version, and what was stored is not fetched again. So it is with a list of downloads, which also goes on by
/// itself. 10 kills of each; 200 of each, 400 in all, if `PULSE_STEPS` is set.
@Suite(.tags(.schedule), .throttled)
struct DownloadKillTests {
    private static let kills = ProcessInfo.processInfo.environment["PULSE_STEPS"] == nil ? 10 : 200
    private static let size = 32 << 20

    private static func content(_ version: Int) -> Data {
        Data(repeating: UInt8(version), count: size)
    }

    @Test(arguments: [false, true]) @HeavyWork func aKilledDownloadGoesOn(isOfList: Bool) async throws {
        let random = SeededRandomness(seed: 26)
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let target = directory.appendingPathComponent("file.bin")
        let list = directory.appendingPathComponent("list")
        let partial = directory.appendingPathComponent(".file.bin.part")
        try await MockServer.run { server in
            var version = 1
            let file = MockServer.File(Self.content(version), etag: "\"1\"")
            server.serve(file, at: "/file")
            var (kills, resumed, whole) = (0, 0, 0)
            while kills < Self.kills || resumed == 0 || whole == 0 {
                // On a busy machine no process may have stored anything yet: the next ones live longer. The last one may
                // end by itself.
                let lifetime =
                    kills < Self.kills || resumed == 0
                    ? random.next() % (60_000 * UInt64(1 + kills / Self.kills)) : 300_000_000
                let stored = (try? FileManager.default.attributesOfItem(atPath: partial.path)[.size] as? Int) ?? 0
                let requests = server.requests.count
                let output = try await ChildProcess.run(
                    ChildProcess.product("transfer-victim"),
                    ["\(server.baseURL)/file", target.path, "\(lifetime)"] + (isOfList ? [list.path] : [])
                ).output
                try await server.wait { $0.openConnectionCount == 0 }
                let offset = server.requests.dropFirst(requests).first?.headers["Range"]
                    .flatMap { Int($0.dropFirst("bytes=".count).dropLast()) }
                if let offset {
                    resumed += 1
                    #expect(offset <= stored && offset >= stored - PartialFile.syncDistance)
                } else {
                    #expect(stored <= PartialFile.syncDistance || version > 1, "\(stored) bytes were fetched again")
                }
                if output.isEmpty {
                    kills += 1
                    if random.next() % 8 == 0 {
                        version += 1
                        file.replace(with: Self.content(version), etag: "\"\(version)\"")
                    }
                } else {
                    #expect(String(decoding: output, as: UTF8.self) == "whole\n")
                    whole += 1
                }
                guard let data = try? Data(contentsOf: target) else { continue }
                // One version, from the first byte to the last.
                #expect(data.count == Self.size && data.first == data.last)
                #expect(data == Self.content(Int(data.first ?? 0)))
                if !output.isEmpty { #expect(data.first == UInt8(version)) }
                try FileManager.default.removeItem(at: target)
            }
            #expect(resumed > 0 && whole > 0)
        }
    }
}
#endif
