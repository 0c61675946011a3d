// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport

#if !canImport(UIKit)
/// Runs scripts in a real shell.
enum Shell {
    /// Bash, and the system's shell, which may be dash, a POSIX-only shell.
    static let all = ["/bin/sh", "/bin/bash"].filter { FileManager.default.isExecutableFile(atPath: $0) }

    static let hasCurl = FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")

    /// The script's standard output. It runs in its own folder.
    static func output(of script: String, in shell: String = "/bin/sh") async throws -> Data {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("shell-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(script.utf8).write(to: folder.appendingPathComponent("script"))
        return try await ChildProcess.run("/bin/sh", ["-c", #"cd "$0" && exec "$1" ./script"#, folder.path, shell])
            .output
    }
}
#endif
