// SPDX-License-Identifier: MIT

import PulseCore

#if !canImport(UIKit)
/// Runs scripts in a real shell.
enum Shell {
    /// Dash where it is the system's, which knows nothing beyond POSIX, and bash.
    static let all = ["/bin/sh", "/bin/bash"].filter { FileManager.default.isExecutableFile(atPath: $0) }

    static let hasCurl = FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")

    /// What the script wrote to standard output.
    static func output(of script: String, in shell: String = "/bin/sh") async throws -> Data {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("shell-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (input, output) = (folder.appendingPathComponent("input"), folder.appendingPathComponent("output"))
        try Data(script.utf8).write(to: input)
        try Data().write(to: output)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: shell)
        process.arguments = [input.path]
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        return try Data(contentsOf: output)
    }
}
#endif
