// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransfers

/// The state machine of downloads in a random schedule, against servers that change the content, lose its validators, and
/// ignore or mistake ranges; `PULSE_STEPS` sets its length.
@Suite(.tags(.schedule), .throttled)
struct DownloadScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

    private enum Validators: CaseIterable { case strong, weak, strongDate, weakDate, none }

    /// One version of the content.
    private struct Version: Equatable {
        let number: Int
        let bytes: [UInt8]
        let validators: Validators
        /// Whether a response with all of it tells its length.
        let tellsLength: Bool

        var content: DownloadedContent {
            var content = DownloadedContent()
            switch validators {
            case .strong: content.entityTag = "\"\(number)\""
            case .weak: content.entityTag = "W/\"\(number)\""
            case .strongDate, .weakDate:
                content.lastModified = "date \(number)"
                content.isDateStrong = validators == .strongDate
            case .none: break
            }
            return content
        }

        /// Whether a range with that `If-Range` is one of this version.
        func fulfills(_ condition: String?) -> Bool {
            condition == nil || condition == content.condition
        }
    }

    /// A server, and what it does to each response.
    private struct Server {
        var versions: [Version] = []
        /// How often in ten it does something else than it should.
        let mistakes: Int
        let changes: Int
        /// Whether it evaluates `If-Range`.
        let knowsConditions: Bool
        var hasErred = false

        var current: Version { versions[versions.count - 1] }
    }

    /// What one response says and brings.
    private struct Response {
        let head: DownloadHead
        var body: [UInt8] = []
        var isCut = false
    }

    private let random = SeededRandomness(seed: 26)

    private func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

    private func change(_ server: inout Server) {
        let bytes = (0..<below(40)).map { _ in UInt8(below(256)) }
        // What a server without `If-Range` has changed shows in the validators alone.
        let validators = server.knowsConditions ? Validators.allCases[below(5)] : [.strong, .strongDate][below(2)]
        server.versions.append(
            Version(
                number: server.versions.count, bytes: bytes, validators: validators, tellsLength: below(4) > 0))
    }

    private func response(of server: inout Server, from offset: Int, _ condition: String?) -> Response {
        if below(10) < server.changes { change(&server) }
        let version = server.current
        var content = version.content
        content.mediaType = "video/mp4"
        let fulfills = version.fulfills(condition)
        var offset = server.knowsConditions && !fulfills ? 0 : offset
        if below(10) < server.mistakes {
            server.hasErred = true
            switch below(11) {
            case 0: return Response(head: DownloadHead(status: [500, 503, 429][below(3)], content: content))
            case 1: return Response(head: DownloadHead(status: [401, 403, 404, 410][below(4)], content: content))
            case 2:
                // Another length than what is stored: a server that confirms a wrong end cannot be found out.
                content.total = Int64(offset + 1 + below(40))
                return Response(head: DownloadHead(status: 416, content: content))
            case 3 where offset > 0: offset = below(offset)
            case 4: offset = 0
            case 7 where offset > 0 && offset >= version.bytes.count:
                return Response(head: DownloadHead(status: 416, content: DownloadedContent()))
            case 8 where offset > 0:
                // A page of an error, as of a network that wants a login.
                var page = DownloadedContent()
                (page.mediaType, page.total) = ("text/html", [nil, 9][below(2)])
                return Response(head: DownloadHead(status: 200, content: page), body: Array("<html>...".utf8))
            case 9 where offset > 0 && offset < version.bytes.count:
                // A part, with the status of a whole.
                content.total = Int64(version.bytes.count)
                return Response(
                    head: DownloadHead(
                        status: 200, content: content, range: Int64(offset)..<Int64(version.bytes.count)),
                    body: Array(version.bytes[offset...]), isCut: below(3) == 0)
            case 10
            where offset > 0 && offset < version.bytes.count && condition != nil && fulfills && version.tellsLength:
                // A part that claims to be the whole: only a known length tells.
                let rest = Array(version.bytes[offset...])
                content.total = [nil, Int64(rest.count)][below(2)]
                return Response(head: DownloadHead(status: 200, content: content), body: rest, isCut: below(3) == 0)
            case 5 where server.knowsConditions: content = DownloadedContent()
            default:
                content.total = Int64(version.bytes.count)
                let rest = Array(version.bytes.dropFirst(offset))
                return Response(
                    head: DownloadHead(
                        status: 206, content: content, range: Int64(offset)..<Int64(offset + max(1, rest.count))),
                    body: rest + [0, 0])
            }
        }
        content.total = Int64(version.bytes.count)
        if offset > 0, offset >= version.bytes.count {
            return Response(head: DownloadHead(status: 416, content: content))
        }
        var body = Array(version.bytes[min(offset, version.bytes.count)...])
        var range: Range<Int64>?
        if offset > 0 {
            // A server may send less than the rest.
            if below(5) == 0 { body = Array(body.prefix(1 + below(body.count))) }
            range = Int64(offset)..<Int64(offset + body.count)
        } else if !version.tellsLength {
            content.total = nil
        }
        let isCut = below(3) == 0
        return Response(
            head: DownloadHead(status: offset > 0 ? 206 : 200, content: content, range: range),
            body: isCut ? Array(body.prefix(below(body.count + 1))) : body, isCut: isCut)
    }

    /// A file and the state that tells of it.
    private struct Disk {
        var bytes: [UInt8] = []
        var saved: (content: DownloadedContent, length: Int)?
    }

    private static let lost = PulseError.transport(
        .networkConnectionLost, underlying: URLError(.networkConnectionLost))

    @Test func theFileIsOneVersionOrNone() {
        var steps = 0
        var (finished, resumed, failed) = (0, 0, 0)
        while steps < Self.steps {
            var server = Server(
                mistakes: [0, 0, 1, 4][below(4)], changes: [0, 0, 1, 3][below(4)], knowsConditions: below(4) > 0)
            change(&server)
            // With the digest of its first version, if the caller knows it.
            let digest = below(4) == 0 ? server.current.bytes : nil
            var disk = Disk()
            run: for _ in 0..<4 {
                var machine = DownloadRun.StateMachine(
                    mayResume: true, hasDigest: digest != nil, maxAttemptsWithoutProgress: 5)
                // A kill: only what was synced counts.
                disk.bytes = Array(disk.bytes.prefix(disk.saved?.length ?? 0))
                var action = machine.start(disk.saved?.content, length: Int64(disk.bytes.count))
                while true {
                    steps += 1
                    switch action {
                    case .send(let from, let condition):
                        let offset = Int(from)
                        if offset > 0 {
                            resumed += 1
                            #expect(offset == disk.bytes.count)
                            #expect(condition != nil || digest != nil)
                        } else if !server.hasErred, server.changes == 0, server.current.content.condition != nil {
                            #expect(disk.bytes.isEmpty, "synced bytes are asked for again")
                        }
                        if offset == 0 { disk = Disk() }
                        if below(10) == 0 {
                            action = machine.failed(Self.lost)
                            continue
                        }
                        let response = response(of: &server, from: offset, condition)
                        action = machine.received(response.head, error: Self.error(response.head.status))
                        guard case .append(let place, _) = action else { continue }
                        if Int(place) < disk.bytes.count {
                            if disk.saved.map({ Int(place) < $0.length }) == true { disk.saved = nil }
                            disk.bytes = Array(disk.bytes.prefix(Int(place)))
                        }
                        #expect(disk.bytes.count == Int(place))
                        action = receive(response, &machine, &disk)
                        if case .send = action, below(8) == 0 { continue run }
                    case .wait: action = machine.waited()
                    case .append:
                        Issue.record("a body without a response")
                        return
                    case .fail(_, let keepsPartial):
                        failed += 1
                        if keepsPartial, machine.isResumable {
                            disk.saved = (machine.content, disk.bytes.count)
                        } else {
                            disk = Disk()
                        }
                        continue run
                    case .finish:
                        finished += 1
                        #expect(machine.length == Int64(disk.bytes.count))
                        if let digest, digest != disk.bytes { break run }
                        #expect(server.versions.contains { $0.bytes == disk.bytes }, "\(disk.bytes) is no version")
                        break run
                    }
                }
            }
        }
        // Each end occurs often.
        #expect(finished > Self.steps / 100 && resumed > Self.steps / 100 && failed > Self.steps / 100)
    }

    private func receive(
        _ response: Response, _ machine: inout DownloadRun.StateMachine, _ disk: inout Disk
    ) -> DownloadRun.StateMachine.Action {
        var rest = response.body[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(1 + below(8))
            rest = rest.dropFirst(chunk.count)
            guard let new = machine.receive(Int64(chunk.count)) else { return machine.receivedTooMuch() }
            disk.bytes += chunk.suffix(Int(new))
            if below(3) == 0, machine.isResumable { disk.saved = (machine.content, disk.bytes.count) }
        }
        return response.isCut ? machine.failed(Self.lost) : machine.ended()
    }

    private static func error(_ status: Int) -> PulseError {
        let response = PulseResponse(statusCode: status, request: URLRequest(url: URL(fileURLWithPath: "/")))
        return PulseError(validating: response, accepted: .successful) ?? .http(response)
    }
}
