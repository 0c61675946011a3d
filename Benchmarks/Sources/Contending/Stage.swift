// SPDX-License-Identifier: MIT

import Dispatch
import Foundation

/// Runs a contender: one assignment after the other, until its standard input ends.
public enum Stage {
    /// Call it on the main thread, which only waits: the work runs in tasks, off the main actor.
    public static func perform(_ contender: some Contender) throws {
        while let line = readLine() {
            let assignment = try JSONDecoder().decode(Assignment.self, from: Data(line.utf8))
            let figure = try waitFor { try await perform(assignment, by: contender) }
            FileHandle.standardOutput.write(try JSONEncoder().encode(figure) + Data("\n".utf8))
        }
    }

    private static func perform(_ assignment: Assignment, by contender: some Contender) async throws -> Figure {
        try await measured {
            switch assignment {
            case .requests(let url, let inFlight, let seconds):
                return try await requests(inFlight: inFlight, seconds: seconds) {
                    try await contender.user(at: url).id == 42
                }
            case .bodies(let url, let size, let inFlight, let seconds):
                return try await requests(inFlight: inFlight, seconds: seconds) {
                    try await contender.body(url) == size
                }
            case .stream(let url):
                return try await contender.stream(url)
            case .lines(let url):
                return try await contender.lines(url)
            case .firstEvents(let url, let seconds):
                return try await requests(inFlight: 1, seconds: seconds) {
                    try await !contender.firstEvent(url).isEmpty
                }
            case .download(let url, let file, let digest, let isReported):
                try await contender.download(url, to: file, sha256: digest, isReported: isReported)
                return try size(of: file)
            case .upload(let file, let url):
                try await contender.upload(file, to: url)
                return try size(of: file)
            case .echoes(let url, let size, let window, let seconds):
                let end = ResourceUse.uptime + seconds
                return try await contender.echoes(url, size: size, window: window, until: end)
            }
        }
    }

    /// Limited by time, not by count, so that a slow contender's round takes no longer than a fast one's.
    private static func requests(
        inFlight: Int, seconds: Double, _ request: @escaping @Sendable () async throws -> Bool
    ) async throws -> Int {
        let end = ResourceUse.uptime + seconds
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<inFlight {
                group.addTask {
                    var completed = 0
                    repeat {
                        guard try await request() else { throw WrongResponse() }
                        completed += 1
                    } while ResourceUse.uptime < end
                    return completed
                }
            }
            return try await group.reduce(0, +)
        }
    }

    private static func measured(_ work: () async throws -> Int) async throws -> Figure {
        ResourceUse.forgetPeak()
        let (memory, processor, start) = (ResourceUse.memory, ResourceUse.processorSeconds, ResourceUse.uptime)
        let count = try await work()
        let (seconds, used) = (ResourceUse.uptime - start, ResourceUse.processorSeconds - processor)
        return Figure(
            count: count, seconds: seconds, processorSeconds: used, memoryBefore: memory,
            memoryPeak: ResourceUse.memoryPeak)
    }

    private static func size(of file: URL) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        guard let size = attributes[.size] as? Int else { throw WrongResponse() }
        return size
    }

    private static func waitFor<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) throws -> Value {
        let done = DispatchSemaphore(value: 0)
        let outcome = Outcome<Value>()
        Task.detached {
            do { outcome.value = .success(try await work()) } catch { outcome.value = .failure(error) }
            done.signal()
        }
        done.wait()
        guard let value = outcome.value else { throw WrongResponse() }
        return try value.get()
    }

    // Unchecked: written before the semaphore is signaled, read after the wait for it.
    private final class Outcome<Value>: @unchecked Sendable {
        var value: Result<Value, any Error>?
    }
}
