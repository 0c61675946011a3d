// SPDX-License-Identifier: MIT

import Foundation

/// A contender's process, which waits for assignments. Each contender has its own process, so that memory, processor
/// time and threads are its own.
package final class Contestant {
    package struct Died: Error, CustomStringConvertible {
        let name: String
        package var description: String { "\(name) died" }
    }

    package let name: String
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var received = Data()

    package init(_ name: String, _ executable: String, _ arguments: [String]) throws {
        self.name = name
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    package func perform(_ assignment: Assignment) throws -> Figure {
        try input.fileHandleForWriting.write(contentsOf: try JSONEncoder().encode(assignment) + Data("\n".utf8))
        return try JSONDecoder().decode(Figure.self, from: try line())
    }

    /// Ends the process by closing its input.
    package func leave() throws {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    private func line() throws -> Data {
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                defer { received = Data(received[(end + 1)...]) }
                return Data(received[..<end])
            }
            let chunk = output.fileHandleForReading.availableData
            guard !chunk.isEmpty else { throw Died(name: name) }
            received += chunk
        }
    }
}
