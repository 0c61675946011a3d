// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulsePlatform
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransfers

/// Resumable uploads whose file changes meanwhile.
@Suite(.tags(.threads), .throttled)
struct TusFileTests {
    private typealias Put = TusFixture.Put

    /// Writes the file in place, and gives it another time of modification whatever the clock of the disk is.
    private static func write(_ data: Data, to file: URL, number: Int = 1) throws {
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: data)
        try handle.close()
        let time = Date(timeIntervalSince1970: 1_700_000_000 + Double(number))
        try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: file.path)
    }

    enum Moment: CaseIterable { case beforeHEAD, beforePATCH, afterPATCH }

    /// The server never gets bytes of two versions, also if they have the same size.
    @Test(arguments: Moment.allCases, [1 << 20, (1 << 20) + 7, 3])
    func aFileThatChangesMeanwhileStartsAnew(at moment: Moment, size: Int) async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            if moment == .beforeHEAD { uploads.dropping(after: 300_000) }
            try await TusFixture.withFile { file, _, resumption in
                let data = Data(repeating: 9, count: size)
                let hasChanged = Locked(false)
                let change = ClosurePlugin { request, _, next in
                    let isIt = request.httpMethod == (moment == .beforeHEAD ? "HEAD" : "PATCH")
                    let isNow =
                        isIt
                        && hasChanged.withLock { was in
                            defer { was = true }
                            return !was
                        }
                    if isNow, moment != .afterPATCH { try Self.write(data, to: file) }
                    let response = try await next(request)
                    if isNow, moment == .afterPATCH { try Self.write(data, to: file) }
                    return response
                }
                let client = TusFixture.client(server, plugins: [change])
                let heard = Heard()
                _ = try await client.upload(Put(file), resuming: resumption, progress: heard.take)
                #expect(uploads.createdCount == 2)
                #expect(uploads.uploads.count { $0.length == size && $0.data == data } == 1)
                #expect(heard.reports.last?.completed == Int64(size) && heard.reports.last?.total == Int64(size))
                heard.expectToFallOnlyBetweenAttempts()
                #expect(TusFixture.names(resumption) == [])
                await client.shutdown()
            }
        }
    }

    @Test func aFileThatKeepsChangingIsAnError() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            try await TusFixture.withFile { file, data, resumption in
                let count = Locked(0)
                let change = ClosurePlugin { request, _, next in
                    let response = try await next(request)
                    if request.httpMethod == "PATCH" {
                        let number = count.withLock { count in
                            count += 1
                            return count
                        }
                        try Self.write(data, to: file, number: number)
                    }
                    return response
                }
                let client = TusFixture.client(server, plugins: [change])
                let error = await #expect(throws: PulseError.self) {
                    try await client.upload(Put(file), resuming: resumption)
                }
                guard case .encodingFailed(let cause as TransferFailure) = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(cause == .contentKeepsChanging && uploads.createdCount == 2)
                #expect(cause.file?.path == file.path)
                #expect(TusFixture.names(resumption) == [])
                await client.shutdown()
            }
        }
    }

    enum Fault: CaseIterable { case location, offset, loss }

    /// With several uploads in progress, the text says which one failed.
    @Test(arguments: Fault.allCases)
    func anErrorNamesTheFileAndTheRequest(fault: Fault) async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            switch fault {
            case .location:
                uploads.answering(.post, with: .status(201))
            case .offset:
                for _ in 0..<2 {
                    uploads.dropping(after: 10)
                    uploads.answering(.head, with: .status(200))
                }
            case .loss: break
            }
            try await TusFixture.withFile { file, _, resumption in
                let losing = ClosurePlugin { request, _, next in
                    guard fault == .loss else { return try await next(request) }
                    throw TransportFailure(code: .badServerResponse, phase: .maybeSent)
                }
                let client = TusFixture.client(server, plugins: [losing], retry: .none)
                let error = await #expect(throws: PulseError.self) {
                    try await client.upload(Put(file), resuming: resumption)
                }
                let text = error.map { "\($0)" } ?? ""
                #expect(text.hasPrefix("transport failed: badServerResponse"), "\(text)")
                let request = (fault == .loss ? "" : "PUT ") + "\(server.baseURL)/up"
                #expect(text.contains("/video.mp4") && text.contains(request), "\(text)")
                await client.shutdown()
            }
        }
    }

    @Test func aBodyIsReadToTheEndThatTheFileHad() async throws {
        try await TusFixture.withFile { file, data, _ in
            let body = try await UploadedFile.at(file).body(from: 1000)
            let stream = try await body.make()
            let handle = try FileHandle(forWritingTo: file)
            try handle.seekToEnd()
            try handle.write(contentsOf: Data(count: 1 << 20))
            try handle.close()
            var read = Data()
            for try await chunk in stream { read += chunk }
            // Not in the macro, which would look for the difference of a failure for minutes.
            let isSame = read == data.dropFirst(1000)
            #expect(isSame && read.count == data.count - 1000)
            #expect(body.length == Int64(data.count - 1000))
            // The change is found when it is opened again.
            await #expect(throws: (any Error).self) { _ = try await body.make() }
        }
    }

    @Test func anUploadWhoseDiskHangsEndsByItsDeadline() async throws {
        try await MockServer.run { server in
            try await TusFixture.withFile { file, _, resumption in
                let disk = DispatchSemaphore(value: 0)
                BlockingThreadPool.files(of: file).begin { disk.wait() }
                let clock = TestClock()
                let client = TusFixture.client(server, clock: clock)
                let options = RequestOptions().with(\.deadline, value: 2)
                let call = Task { try await client.upload(Put(file), resuming: resumption, options: options) }
                await clock.sleepers(atLeast: 1, for: .deadline)
                await clock.advance(by: 2)
                let error = await #expect(throws: PulseError.self) { try await call.value }
                #expect(error?.kind == .deadlineExceeded && server.requests.isEmpty)
                disk.signal()
                await client.shutdown()
            }
        }
    }

    @Test func aMissingFileIsAnErrorBeforeAnythingIsSent() async throws {
        try await MockServer.run { server in
            try await TusFixture.withFile { file, _, resumption in
                try FileManager.default.removeItem(at: file)
                let client = TusFixture.client(server)
                let error = await #expect(throws: PulseError.self) {
                    try await client.upload(Put(file), resuming: resumption)
                }
                #expect(error?.kind == .encodingFailed && server.requests.isEmpty)
                let text = error.map { "\($0)" } ?? ""
                #expect(text.contains("no such file: ") && text.contains("/video.mp4"), "\(text)")
                await client.shutdown()
            }
        }
    }
}
