// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import PackageDescription

// What a call goes through runs where its caller does, which saves a switch for each function. The client's own functions,
// which are in another module, leave the caller's actor first. Compilers before 6.2 do not know it and switch.
let staysWithItsCaller: [SwiftSetting] = [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

// What the tests of each part of PulseNetworking need.
let forRooms: [Target.Dependency] = [
    "PulseNetworking", "PulsePlugins", "PulseObservability", "PulseStorage", "PulsePlatform", "PulseTesting",
    "TestSupport",
]

let package = Package(
    name: "PulseKit",
    platforms: [.iOS(.v15), .macOS(.v12), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
    products: [
        .library(name: "PulseKit", targets: ["PulseKit"]),
        .library(name: "PulseCore", targets: ["PulseCore"]),
        .library(name: "PulseNetworking", targets: ["PulseNetworking"]),
        // The parts of PulseNetworking, for apps that need a few of them.
        .library(name: "PulseCalls", targets: ["PulseCalls"]),
        .library(name: "PulseStreams", targets: ["PulseStreams"]),
        .library(name: "PulseSockets", targets: ["PulseSockets"]),
        .library(name: "PulseGraphQL", targets: ["PulseGraphQL"]),
        .library(name: "PulseTransfers", targets: ["PulseTransfers"]),
        .library(name: "PulseModels", targets: ["PulseModels"]),
        .library(name: "PulsePlugins", targets: ["PulsePlugins"]),
        .library(name: "PulseStorage", targets: ["PulseStorage"]),
        .library(name: "PulseObservability", targets: ["PulseObservability"]),
        .library(name: "PulseUI", targets: ["PulseUI"]),
        .library(name: "PulseTesting", targets: ["PulseTesting"]),
        .library(name: "PulseConformance", targets: ["PulseConformance"]),
    ],
    dependencies: [],
    targets: [
        .target(name: "PulseCore", swiftSettings: staysWithItsCaller),
        .target(name: "PulseObservability", dependencies: ["PulseCore"]),
        .target(name: "PulseUI", dependencies: ["PulseCore", "PulseObservability"]),
        // Loads what the system has; without it on other systems than Linux.
        .target(name: "CPulsePlatform"),
        // Certificates, TLS and HTTP/2 for servers of tests, by the same libraries.
        .target(name: "CPulseTesting", dependencies: ["CPulsePlatform"]),
        // What the modules share of threads, hashes and standard error. No product, as the transports are none.
        .target(
            name: "PulsePlatform",
            dependencies: ["PulseCore", .target(name: "CPulsePlatform", condition: .when(platforms: [.linux]))]),
        .target(
            name: "PulseStorage",
            dependencies: [
                "PulseCore", "PulsePlatform", .target(name: "CPulsePlatform", condition: .when(platforms: [.linux])),
            ]),
        .target(
            name: "PulsePlugins",
            dependencies: [
                "PulseCore", "PulsePlatform", "PulseStorage",
                .target(name: "CPulsePlatform", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: staysWithItsCaller),
        .target(
            name: "PulseTransports",
            dependencies: [
                "PulseCore", "PulsePlatform", .target(name: "CPulsePlatform", condition: .when(platforms: [.linux])),
            ]),
        // PulseNetworking is this client and the rooms above it, each of which exports it: the compiler keeps them apart.
        .target(
            name: "PulseCalls",
            dependencies: [
                "PulseCore", "PulsePlatform", "PulseStorage", "PulseObservability", "PulseTransports",
            ],
            path: "Sources/PulseNetworking/Calls"),
        .target(
            name: "PulseStreams", dependencies: ["PulseCore", "PulseCalls"],
            path: "Sources/PulseNetworking/Streams"),
        .target(
            name: "PulseSockets", dependencies: ["PulseCore", "PulsePlatform", "PulseTransports", "PulseCalls"],
            path: "Sources/PulseNetworking/Sockets"),
        .target(
            name: "PulseGraphQL", dependencies: ["PulseCore", "PulsePlatform", "PulseCalls", "PulseSockets"],
            path: "Sources/PulseNetworking/GraphQL"),
        .target(
            name: "PulseTransfers",
            dependencies: [
                "PulseCore", "PulsePlatform", "PulseStorage", "PulseObservability", "PulseTransports", "PulseCalls",
            ],
            path: "Sources/PulseNetworking/Transfers"),
        .target(
            name: "PulseModels", dependencies: ["PulseCore", "PulsePlatform", "PulseCalls"],
            path: "Sources/PulseNetworking/Models"),
        .target(
            name: "PulseNetworking",
            dependencies: ["PulseStreams", "PulseSockets", "PulseGraphQL", "PulseTransfers", "PulseModels"],
            path: "Sources/PulseNetworking", exclude: ["Calls", "Streams", "Sockets", "GraphQL", "Transfers", "Models"]),
        .target(
            name: "PulseTesting",
            dependencies: [
                "PulseCore", "PulsePlatform", "PulseTransports", "PulseNetworking", "PulseCalls", "PulseSockets",
                "PulseGraphQL",
                .target(name: "CPulsePlatform", condition: .when(platforms: [.linux])),
                .target(name: "CPulseTesting", condition: .when(platforms: [.linux])),
            ],
            exclude: ["Conformance"]),
        // The list of cases for transports, which an app's tests do not need.
        .target(
            name: "PulseConformance",
            dependencies: [
                "PulseCore", "PulseNetworking", "PulseTesting",
                .target(name: "CPulsePlatform", condition: .when(platforms: [.linux])),
            ],
            path: "Sources/PulseTesting/Conformance"),
        .target(
            name: "PulseKit",
            dependencies: ["PulseCore", "PulseNetworking", "PulsePlugins", "PulseStorage", "PulseObservability"]),
        .executableTarget(name: "pulse-demo", dependencies: ["PulseKit", "PulseTesting"]),
        .target(
            name: "TestSupport",
            dependencies: ["PulseCore", "PulseNetworking", "PulseObservability", "PulsePlugins", "PulseTesting"],
            path: "Tests/TestSupport"),
        .testTarget(name: "PulseCoreTests", dependencies: ["PulseCore", "PulseTesting", "TestSupport"]),
        .testTarget(
            name: "PulseObservabilityTests",
            dependencies: ["PulseObservability", "PulseNetworking", "PulsePlugins", "PulseTesting", "TestSupport"]),
        .testTarget(
            name: "PulseUITests",
            dependencies: [
                "PulseUI", "PulseObservability", "PulseNetworking", "PulsePlugins", "PulseTesting", "TestSupport",
            ]),
        .testTarget(name: "PulsePlatformTests", dependencies: ["PulsePlatform", "PulseTesting", "TestSupport"]),
        .testTarget(
            name: "PulseStorageTests",
            dependencies: [
                "PulseStorage", "PulsePlatform", "PulseTesting", "TestSupport", "cache-victim", "secret-victim",
            ]),
        // Processes that the tests of the stores kill.
        .executableTarget(
            name: "cache-victim", dependencies: ["PulseCore", "PulseStorage"], path: "Tests/cache-victim"),
        .executableTarget(
            name: "secret-victim", dependencies: ["PulseCore", "PulseStorage"], path: "Tests/secret-victim"),
        .testTarget(
            name: "PulsePluginsTests",
            dependencies: [
                "PulsePlugins", "PulseNetworking", "PulseStorage", "PulseObservability", "PulseTesting", "TestSupport",
            ]),
        .testTarget(
            name: "PulseTransportsTests",
            dependencies: [
                "PulseTransports", "PulseNetworking", "PulsePlugins", "PulseObservability", "PulseStorage",
                "PulseTesting", "PulseConformance", "TestSupport",
            ]),
        .testTarget(name: "PulseCallsTests", dependencies: forRooms, path: "Tests/PulseNetworkingTests/Calls"),
        .testTarget(name: "PulseStreamsTests", dependencies: forRooms, path: "Tests/PulseNetworkingTests/Streams"),
        .testTarget(name: "PulseSocketsTests", dependencies: forRooms, path: "Tests/PulseNetworkingTests/Sockets"),
        .testTarget(name: "PulseGraphQLTests", dependencies: forRooms, path: "Tests/PulseNetworkingTests/GraphQL"),
        .testTarget(
            name: "PulseTransfersTests", dependencies: forRooms + ["transfer-victim"],
            path: "Tests/PulseNetworkingTests/Transfers"),
        .testTarget(name: "PulseModelsTests", dependencies: forRooms, path: "Tests/PulseNetworkingTests/Models"),
        // A process that the tests of transfers kill.
        .executableTarget(name: "transfer-victim", dependencies: ["PulseKit"], path: "Tests/transfer-victim"),
        .testTarget(
            name: "PulseTestingTests",
            dependencies: [
                "PulseTesting", "PulseConformance", "PulseNetworking", "PulsePlugins", "PulseObservability",
                "PulsePlatform", "TestSupport",
            ]),
        .testTarget(
            name: "PulseJourneyTests", dependencies: ["PulseKit", "PulseTesting", "TestSupport", "offline-victim"]),
        // Programs that people have written, in both language modes: the second target has links to the files of the first.
        .testTarget(name: "WrittenProgramsTests", dependencies: ["PulseKit", "PulseUI", "PulseTesting"]),
        .testTarget(
            name: "WrittenProgramsSwift5Tests", dependencies: ["PulseKit", "PulseUI", "PulseTesting"],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        // A process that the journey tests kill.
        .executableTarget(
            name: "offline-victim", dependencies: ["PulseKit", "PulseTesting"], path: "Tests/offline-victim"),
    ],
    swiftLanguageModes: [.v6]
)

// The privacy manifest of the whole package is in the module that all others depend on. Only Apple's systems read it.
let privacyManifest = "PrivacyInfo.xcprivacy"
for target in package.targets where target.name == "PulseCore" {
    #if canImport(Darwin)
    target.resources = [.copy(privacyManifest)]
    #else
    target.exclude = [privacyManifest]
    #endif
}

#if canImport(Darwin)
// With Apple's frameworks. Scripts/check-apple type-checks it on other systems.
package.targets.append(
    .testTarget(
        name: "AppleTests",
        dependencies: [
            "PulseCore", "PulseNetworking", "PulseObservability", "PulseStorage", "PulseTesting", "PulseUI",
        ]))
#endif

// Builds that run a few suites, as under a sanitizer, leave the files of the others out: `Scripts/check` lists them.
let leftOut = (Context.environment["PULSE_TESTS_LEFT_OUT"] ?? "").split(separator: ":")
for target in package.targets {
    let folder = (target.path ?? "Tests/" + target.name) + "/"
    let own = leftOut.map { "Tests/" + $0 }.filter { $0.hasPrefix(folder) }
    target.exclude += own.map { String($0.dropFirst(folder.count)) }
}
