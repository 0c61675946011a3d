// SPDX-License-Identifier: MIT

import PulseKit

// notes URL DIRECTORY add     adds a note for each line of the input
// notes URL DIRECTORY sync    sends what waits, and fetches the notes of other devices
// notes URL DIRECTORY list    prints the notes, with what is known of each on the server
let arguments = CommandLine.arguments
guard arguments.count == 4 else { exit(64) }

func show(_ entry: NoteBook.Entry) {
    print("\(entry.state.name)\t\(entry.note.text)")
    fflush(nil)
}

do {
    let book = try NoteBook(
        server: arguments[1], directory: URL(fileURLWithPath: arguments[2]),
        token: ProcessInfo.processInfo.environment["TOKEN"] ?? "")
    switch arguments[3] {
    case "add": while let line = readLine() { show(try await book.add(line)) }
    case "sync": try await book.sync()
    case "list": for entry in await book.entries { show(entry) }
    default: exit(64)
    }
    await book.close()
} catch {
    FileHandle.standardError.write(Data("notes: \(error)\n".utf8))
    exit(69)
}
