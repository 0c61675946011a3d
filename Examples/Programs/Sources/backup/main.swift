// SPDX-License-Identifier: MIT

import PulseKit

// backup URL MACHINE push FOLDER       uploads what the server does not have
// backup URL MACHINE restore FOLDER    downloads what the folder does not have
let arguments = CommandLine.arguments
guard arguments.count == 5 else { exit(64) }

let token = ProcessInfo.processInfo.environment["TOKEN"] ?? ""
let backup = Backup(
    client: PulseClient(baseURL: arguments[1], plugins: [.bearer(token)]), machine: arguments[2],
    folder: URL(fileURLWithPath: arguments[4], isDirectory: true))
do {
    switch arguments[3] {
    case "push": try await backup.push { print($0) }
    case "restore": try await backup.restore { print($0) }
    default: exit(64)
    }
    await backup.client.shutdown()
} catch {
    FileHandle.standardError.write(Data("backup: \(error)\n".utf8))
    exit(1)
}
